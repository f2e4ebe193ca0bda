import { LIMITS } from '../../domain/limits';
import { CALL_DEFAULTS } from '../../domain/voice/call-options';
import type { HandOver, HandOverResult, InDoubt, LookUpResult, Provider } from '../provider';
import { callingAccount } from '../vendor/call-control';
import { VENDOR_CAPABILITIES } from '../vendor/capabilities';
import { impossible } from '../vendor/inabilities';
import { provenAddress } from '../vendor/message-address';
import { placeCall } from '../vendor/place-call';
import { steered } from '../vendor/steered';
import type { Inability, VendorAccount, VendorOptions, VendorVoice } from '../vendor/vendor';
import { objectIn, resultOfAnswer, wordIn } from '../vendor/vendor-answer';
import { bare, writeNcco } from './ncco';
import { readVonageDocument } from './vonage-call';
import { openVonageClient, readVonage } from './vonage-client';

/** What Vonage takes, in seconds. */
const RING_MAX = 120;
const LENGTH_MAX = 7_200;
const BEEP_SECONDS = 45;
/** Vonage ends an input by # alone, and sends tones on request only. */
const BEYOND_NCCO: readonly (readonly [RegExp, string])[] = [
  [/<Play\b[^>]*\sdigits\s*=/, 'Tones (Play with digits) are not possible there'],
  [/\sfinishOnKey\s*=\s*["'][^#"']/, 'No key but # can end an input there (finishOnKey)'],
];

/** What of a call document Vonage has no equivalent for. */
export const unableAtVonage = (document: string): Inability[] =>
  BEYOND_NCCO.flatMap(([pattern, message]) =>
    pattern.test(document) ? [{ about: 'template' as const, message }] : [],
  );

/** Between the carrier's clock and ours. */
const CLOCKS_DIFFER_MS = 5_000;

/**
 * Calls by Vonage's Voice API. The call is written down first, since Vonage asks for its document as soon as the callee
 * answers. Who answered is found out while the call speaks.
 */
export function openVonageVoice({ account, addresses, calls, answerTimeoutMs }: VendorOptions): Provider {
  if (!calls) throw new Error('Calls at Vonage need a place to be kept');
  const desk = calls;
  const client = openVonageClient(account, answerTimeoutMs);
  const caller = callingAccount('vonage', account);

  async function handOne(message: HandOver, mayBegin: () => boolean): Promise<HandOverResult> {
    const refused = impossible(unableAtVonage(message.xml ?? ''));
    if (refused) return refused;
    return placeCall(desk, message, caller, async (path) => {
      const callback = addresses.callback(message.id);
      const body = bodyFor(message, {
        document: addresses.document(path),
        callback: provenAddress(callback, message.id, account.secrets.signatureSecret),
      });
      return resultOfAnswer('vonage', await client.post('/v1/calls', body, mayBegin), readVonage);
    });
  }

  const pathOf = (providerId: string) => `/v1/calls/${encodeURIComponent(providerId)}`;

  return {
    name: 'vonage',
    channel: 'voice',
    capabilities: VENDOR_CAPABILITIES,
    start: async () => undefined,
    handOver: client.handOver(handOne),
    async lookUp(message) {
      const query = new URLSearchParams({
        date_start: new Date(message.sinceMs - CLOCKS_DIFFER_MS).toISOString(),
        date_end: new Date(message.untilMs + CLOCKS_DIFFER_MS).toISOString(),
        page_size: '100',
      });
      return foundIn(await client.get(`/v1/calls?${query}`), message);
    },
    async withdraw(providerId) {
      // Hanging up would also end a conversation.
      const answer = await client.get(pathOf(providerId));
      const status = 'status' in answer ? objectIn(answer.text)?.status : undefined;
      if (status !== 'started' && status !== 'ringing') return;
      await client.put(pathOf(providerId), { action: 'hangup' });
    },
    close: () => client.close(),
  };
}

function bodyFor(
  { to, from, voice = {} }: HandOver,
  { document, callback }: { document: string; callback: string },
) {
  const machine = voice.machine ?? CALL_DEFAULTS.machine;
  return {
    to: [{ type: 'phone', number: bare(to) }],
    from: { type: 'phone', number: bare(from) },
    ...{ answer_url: [document], answer_method: 'POST', event_url: [callback], event_method: 'POST' },
    ringing_timer: Math.min(voice.ringTimeoutSeconds ?? CALL_DEFAULTS.ringTimeoutSeconds, RING_MAX),
    length_timer: Math.min(voice.maxSeconds ?? CALL_DEFAULTS.maxSeconds, LENGTH_MAX),
    advanced_machine_detection: {
      behavior: 'continue',
      mode: 'default',
      ...(machine === 'leave_message' ? { beep_timeout: BEEP_SECONDS } : {}),
    },
  };
}

/** Entries of the list that may be this call: with its numbers, within the requested time. */
function foundIn(answer: Awaited<ReturnType<VonageClient['get']>>, { to, from }: InDoubt): LookUpResult {
  if (!('status' in answer) || answer.status !== 200) return { kind: 'failed' };
  const embedded = objectIn(answer.text)?._embedded as { calls?: unknown } | undefined;
  if (!Array.isArray(embedded?.calls)) return { kind: 'failed' };
  const providerIds = (embedded.calls as Record<string, unknown>[]).flatMap((call) => {
    const uuid = wordIn(call.uuid);
    const isIt = numberIn(call.to) === bare(to) && numberIn(call.from) === bare(from);
    return uuid !== undefined && isIt && call.direction !== 'inbound' ? [uuid] : [];
  });
  return providerIds.length === 0 ? { kind: 'none' } : { kind: 'found', providerIds };
}

type VonageClient = ReturnType<typeof openVonageClient>;

/** An object, or a list of one. */
function numberIn(party: unknown): string | undefined {
  const one = Array.isArray(party) ? (party[0] as unknown) : party;
  return typeof one === 'object' && one !== null ? wordIn((one as { number?: unknown }).number) : undefined;
}

export const VONAGE_VOICE: VendorVoice = {
  readRequest: readVonageDocument,
  write: writeNcco,
  async steer(account: VendorAccount, providerId, to) {
    const client = openVonageClient(account, LIMITS.callDocumentMs);
    const body =
      'url' in to
        ? { action: 'transfer', destination: { type: 'ncco', url: [to.url] } }
        : { action: 'hangup' };
    try {
      await steered(() => client.put(`/v1/calls/${encodeURIComponent(providerId)}`, body));
    } finally {
      await client.close();
    }
  },
};
