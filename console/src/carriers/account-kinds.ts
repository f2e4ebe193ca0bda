/** What each kind of account is made of (api.md 15). */
export type Kind = 'twilio' | 'telnyx' | 'vonage' | 'http' | 'smtp' | 'smpp' | 'kannel' | 'simulator';

interface Member {
  name: string;
  /** `headers`: one `name: value` a line. */
  how?: 'line' | 'lines' | 'number' | 'switch' | 'headers';
  isRequired?: boolean;
}

interface KindOf {
  /** The channels that it has, or among which one chooses. */
  channels: readonly ('email' | 'sms' | 'voice')[];
  settings: readonly Member[];
  secrets: readonly Member[];
}

const must = (name: string, how: Member['how'] = 'line'): Member => ({ name, how, isRequired: true });
const may = (name: string, how: Member['how'] = 'line'): Member => ({ name, how });

export const KINDS: Record<Kind, KindOf> = {
  twilio: {
    channels: ['sms', 'voice'],
    settings: [must('accountSid'), may('apiKey'), may('messagingServiceSid'), may('url')],
    secrets: [must('authToken'), may('apiSecret')],
  },
  telnyx: {
    channels: ['sms', 'voice'],
    settings: [must('publicKey'), may('connectionId'), may('messagingProfileId'), may('url')],
    secrets: [must('apiKey')],
  },
  vonage: {
    channels: ['sms', 'voice'],
    settings: [must('applicationId'), may('url')],
    secrets: [must('privateKey', 'lines'), must('signatureSecret')],
  },
  http: {
    channels: ['email', 'sms', 'voice'],
    settings: [must('url'), may('idempotent', 'switch')],
    secrets: [may('headers', 'headers')],
  },
  smtp: {
    channels: ['email'],
    settings: [
      ...[may('connections', 'number'), may('heloName'), may('events')],
      ...[may('topicArn'), may('publicKey'), may('webhookUser')],
    ],
    secrets: [must('url'), may('signingKey'), may('webhookPassword')],
  },
  smpp: {
    channels: ['sms'],
    settings: [
      may('binds', 'number'),
      may('window', 'number'),
      may('messageId'),
      may('tlvs'),
      may('optedOutCodes'),
    ],
    secrets: [must('url')],
  },
  kannel: { channels: ['sms'], settings: [], secrets: [must('url')] },
  simulator: {
    channels: ['email', 'sms', 'voice'],
    settings: [may('seed', 'number'), may('latencyMs', 'number')],
    secrets: [],
  },
};

/** What was typed, as the API takes it; what is empty is left out. */
export function membersOf(
  members: readonly Member[],
  typed: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const given = members
    .map(({ name, how }) => [name, typedValue(how, typed[name] ?? '')] as const)
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}

function typedValue(how: Member['how'], text: string): unknown {
  if (text.trim() === '') return undefined;
  if (how === 'number') return Number(text);
  if (how === 'switch') return text === 'true';
  if (how !== 'headers') return text;
  const lines = text.split('\n').map((line) => /^\s*([^:]+?)\s*:\s*(.*?)\s*$/.exec(line));
  return Object.fromEntries(lines.flatMap((found) => (found ? [[found[1], found[2]]] : [])));
}
