import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient, createList, createSmsTemplate } from '../support/api-client';
import { createVoiceTemplate } from '../support/voice-campaign';
import { eventsOf, insistentClient, PATIENCE_MS } from './insistent-client';
import type { Installation } from './installation';
import { sendersOf, type Workspace } from './workspaces';

/** The backend teams of all workspaces: they start campaigns while everything falls over, and ask again until they are answered. */
export interface Backend {
  /** Starts the next campaign, of the workspaces in turn; answers its id. */
  start(): Promise<string>;
  act(id: string, action: 'pause' | 'resume' | 'cancel'): Promise<void>;
  /** Asks for a control once; answers the status, or `undefined` without an answer. */
  press(id: string, press: Press): Promise<number | undefined>;
  /** Stops one workspace, each in its turn, or lets all go on. */
  stop(): Promise<void>;
  goOn(): Promise<void>;
  /** A reading of a campaign, or `undefined` when nobody answers now. */
  look(id: string): Promise<Reading | undefined>;
  /** Every recipient: message uid and state. */
  recipients(id: string): Promise<{ channel: string; uid: string; state: string }[]>;
  /** The types of what happened to a message of a campaign, in order. */
  events(id: string, uid: string): Promise<string[]>;
  /** The addresses that only the campaign's workspace sends from. */
  senders(id: string): readonly string[];
  /** Whether a team of another workspace finds the message. */
  isSeenByOthers(id: string, uid: string): Promise<boolean>;
}

/** What an operator may ask of a campaign. */
export interface Press {
  action: 'pause' | 'resume' | 'retry-failed' | 'release' | 'pace';
  body?: object;
}

/** What one workspace's team can do. */
interface Team {
  senders: readonly string[];
  start(name: string, kind: object): Promise<string>;
  act: Backend['act'];
  press: Backend['press'];
  look: Backend['look'];
  recipients: Backend['recipients'];
  events(uid: string): Promise<string[]>;
  has(uid: string): Promise<boolean>;
  stop: Backend['stop'];
  goOn: Backend['goOn'];
}

export interface Reading {
  phase: string;
  reason: string | null;
  /** When counts stand: of a canceled campaign up to a minute after its phase. */
  finishedAt: string | null;
  counts: Record<string, Record<string, number>>;
}

/** In stages of which the next begins soon, so that kills meet each step between two of them. */
const release = {
  stages: [
    { percent: 20, waitSeconds: 2 },
    { percent: 30, waitSeconds: 2 },
  ],
};

const STAGED: readonly object[] = [
  { release },
  { release, strategy: 'fallback', fallbackAfterSeconds: 5 },
  // A gate that is judged and never closed.
  { release: { ...release, gates: [{ metric: 'failed', above: 1, minSample: 1 }] } },
];

/** In the request itself. */
const RECIPIENTS: readonly object[] = Array.from({ length: 1_000 }, (_, i) => ({
  ...{
    email: `own${i}@example.com`,
    phone: `+1202777${String(i).padStart(4, '0')}`,
    params: { NAME: 'Own' },
  },
}));

/**
 * What campaigns differ in, one after the other: channels at once, channels in turn, hours of the recipient's own, and
 * stages. As many kinds as are no multiple of the workspaces, so that each workspace has each kind.
 */
export const KINDS: Record<'all' | 'staged' | 'calls' | 'varied', readonly object[]> = {
  all: [
    {},
    { strategy: 'fallback', fallbackAfterSeconds: 5 },
    // One minute of the day, so that nearly every recipient is due at once.
    { delivery: { quietHours: { from: '03:00', to: '03:01', timezone: 'recipient' } } },
    ...STAGED.slice(0, 2),
  ],
  staged: STAGED,
  // Each recipient is called once, so that the carrier's record says which message is whose.
  calls: [{ channel: ['voice'], voice: { maxAttempts: 1 } }],
  varied: [
    // What the carrier refuses is sent again under another uid.
    { delivery: { retry: { maxAttempts: 3, initialDelaySeconds: 1 } } },
    { delivery: { ratePerSecond: 400 } },
    { contactListId: [], recipients: RECIPIENTS },
    { delivery: { onUnknown: 'resend' } },
    { strategy: 'fallback', fallbackAfterSeconds: 1, delivery: { ratePerSecond: 300 } },
  ],
};

/** A call costs a workflow of its own. */
const CALLED = 400;

export async function openBackend(
  installation: Installation,
  contacts: number,
  kinds: readonly object[],
): Promise<Backend> {
  const { baseUrl, workspaces } = installation;
  const teams = await Promise.all(workspaces.map((one, i) => openTeam(baseUrl, one, i, contacts)));
  const teamOf = new Map<string, Team>();
  let started = 0;
  let stopped = 0;

  function of(id: string): Team {
    const team = teamOf.get(id);
    if (!team) throw new RangeError(`Campaign ${id} was not started here`);
    return team;
  }

  return {
    async start() {
      const team = teams[started % teams.length] as Team;
      const kind = kinds[started % kinds.length] as object;
      const id = await team.start(`chaos ${++started}`, kind);
      teamOf.set(id, team);
      return id;
    },
    act: (id, action) => of(id).act(id, action),
    press: (id, press) => of(id).press(id, press),
    stop: () => (teams[stopped++ % teams.length] as Team).stop(),
    async goOn() {
      await Promise.all(teams.map((team) => team.goOn()));
    },
    look: (id) => of(id).look(id),
    recipients: (id) => of(id).recipients(id),
    events: (id, uid) => of(id).events(uid),
    senders: (id) => of(id).senders,
    async isSeenByOthers(id, uid) {
      const others = teams.filter((team) => team !== of(id));
      return (await Promise.all(others.map((team) => team.has(uid)))).includes(true);
    },
  };
}

async function openTeam(
  baseUrl: string,
  credentials: Workspace,
  number: number,
  contacts: number,
): Promise<Team> {
  const api = new ApiClient(baseUrl, credentials);
  const client = await insistentClient(baseUrl, credentials);
  const senders = sendersOf(number);
  const list = await createList(api, contacts);
  const sms = await createSmsTemplate(api);
  const { template } = await api.expect<{ template: { id: string } }>('POST', '/api/template/', {
    templateName: 'chaos email',
    channel: 'email',
    subject: 'Hello {{NAME}}',
    body: '<p>Hello {{NAME}}</p>',
    emailProviderId: '',
  });
  const voice = await createVoiceTemplate(api);
  const called = await createList(api, Math.min(CALLED, contacts), 'c');
  await api.close();
  const { ask, insist } = client;

  return {
    senders: Object.values(senders),
    async start(name, kind) {
      const isCalling = 'channel' in kind;
      const body = {
        campaignId: null,
        name,
        channel: ['email', 'sms'],
        contactListId: [isCalling ? called : list],
        settings: isCalling
          ? { voice: { callerId: senders.voice, templateId: voice, version: 1 } }
          : {
              email: { fromEmail: senders.email, templateId: template.id, version: 1 },
              sms: { shortCode: senders.sms, templateId: sms, version: 1 },
            },
        ...kind,
      };
      const text = await insist('POST', '/api/campaign', body, name);
      return (JSON.parse(text) as { data: { id: string } }).data.id;
    },
    async act(id, action) {
      // Whoever is not resumed for want of an answer makes no progress, and it is nobody's fault.
      for (const endsAt = Date.now() + PATIENCE_MS; Date.now() < endsAt; await delay(500)) {
        const answer = await ask('POST', `/api/campaign/${id}/${action}`).catch(() => undefined);
        await answer?.arrayBuffer().catch(() => undefined);
        if (action === 'pause' || (answer && answer.status < 500)) return;
      }
    },
    async press(id, { action, body }) {
      const path = `/api/campaign/${id}`;
      const asked = action === 'pace' ? ask('PATCH', path, body) : ask('POST', `${path}/${action}`, body);
      const answer = await asked.catch(() => undefined);
      await answer?.arrayBuffer().catch(() => undefined);
      return answer?.status;
    },
    async look(id) {
      const answer = await ask('GET', `/api/campaign/${id}`).catch(() => undefined);
      if (answer?.status !== 200) return undefined;
      const body = (await answer.json().catch(() => undefined)) as { data: Reading } | undefined;
      return body?.data;
    },
    async recipients(id) {
      const [, ...lines] = (await insist('GET', `/api/campaign/${id}/recipients.csv`)).trim().split(/\r?\n/);
      return lines.map((line) => {
        const [, channel = '', , state = '', , , , uid = ''] = line.split(',');
        return { channel, state, uid };
      });
    },
    events: (uid) => eventsOf(client, uid),
    async has(uid) {
      for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await delay(200)) {
        const answer = await ask('GET', `/messages/${uid}`).catch(() => undefined);
        await answer?.arrayBuffer().catch(() => undefined);
        if (answer && answer.status < 500) return answer.status !== 404;
      }
      throw new Error(`GET /messages/${uid} was not answered`);
    },
    async stop() {
      await ask('POST', '/api/stop', { reason: 'Chaos' }).catch(() => undefined);
    },
    async goOn() {
      await insist('DELETE', '/api/stop');
    },
  };
}
