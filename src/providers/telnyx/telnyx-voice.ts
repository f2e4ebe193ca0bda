import { createHash } from 'node:crypto';
import { LIMITS } from '../../domain/limits';
import { CALL_DEFAULTS } from '../../domain/voice/call-options';
import type { HttpAnswer, NoAnswer } from '../http-exchange';
import type { HandOver, HandOverResult, Provider } from '../provider';
import { callingAccount } from '../vendor/call-control';
import { VENDOR_CAPABILITIES } from '../vendor/capabilities';
import { impossible } from '../vendor/inabilities';
import type { JsonClient } from '../vendor/json-client';
import { provenAddress } from '../vendor/message-address';
import { placeCall } from '../vendor/place-call';
import type { Obedience, VendorAccount, VendorCommands, VendorOptions } from '../vendor/vendor';
import { objectIn, resultOfAnswer } from '../vendor/vendor-answer';
import { objectAt, openTelnyxClient, readTelnyx } from './telnyx-client';
import { writeCommands, writeState } from './telnyx-commands';
import { unspokenAtTelnyx } from './telnyx-voices';

/** What Telnyx takes, in seconds. */
const RING_SECONDS = { min: 5, max: 600 };
const LENGTH_SECONDS = { min: 30, max: 14_400 };

/**
 * Calls by Telnyx's Call Control. Telnyx fetches no document: it reports what happens in the call, and takes commands. Who
 * answered is found out while the call speaks, because people would hear silence otherwise.
 */
export function openTelnyxVoice({ account, addresses, calls, answerTimeoutMs }: VendorOptions): Provider {
  if (!calls) throw new Error('Calls at Telnyx need a place to be kept');
  const desk = calls;
  const client = openTelnyxClient(account, answerTimeoutMs);
  const caller = callingAccount('telnyx', account);

  async function handOne(message: HandOver, mayBegin: () => boolean): Promise<HandOverResult> {
    const refused = impossible(unspokenAtTelnyx(message.xml ?? ''));
    if (refused) return refused;
    return placeCall(desk, message, caller, async () => {
      const callback = provenAddress(addresses.callback(message.id), message.id, account.secrets.apiKey);
      const body = bodyFor(message, account.settings.connectionId, callback);
      return resultOfAnswer('telnyx', await client.post('/calls', body, mayBegin), readTelnyx);
    });
  }

  return {
    name: 'telnyx',
    channel: 'voice',
    capabilities: VENDOR_CAPABILITIES,
    start: async () => undefined,
    handOver: client.handOver(handOne),
    async withdraw(providerId) {
      const answer = await client.get(`/calls/${encodeURIComponent(providerId)}`);
      const data = 'status' in answer ? objectAt(objectIn(answer.text)?.data) : {};
      // Whether it was answered Telnyx does not say here; the caller asks only for calls that were not.
      if (data.is_alive === true) await hangUp(client, providerId);
    },
    close: () => client.close(),
  };
}

function bodyFor(
  { id, attempt, to, from, voice = {} }: HandOver,
  connection: string | undefined,
  callback: string,
) {
  const machine = voice.machine ?? CALL_DEFAULTS.machine;
  return {
    ...{ connection_id: connection, to, from, webhook_url: callback, webhook_url_method: 'POST' },
    command_id: uuidOf(`call ${id} ${attempt}`),
    timeout_secs: within(RING_SECONDS, voice.ringTimeoutSeconds ?? CALL_DEFAULTS.ringTimeoutSeconds),
    time_limit_secs: within(LENGTH_SECONDS, voice.maxSeconds ?? CALL_DEFAULTS.maxSeconds),
    answering_machine_detection: machine === 'leave_message' ? 'greeting_end' : 'detect',
  };
}

const within = ({ min, max }: { min: number; max: number }, value: number) =>
  Math.min(max, Math.max(min, value));

/** The same for the same text, so that Telnyx knows a command that is repeated. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  );
}

const hangUp = (client: JsonClient, providerId: string) => client.post(actionPath(providerId, 'hangup'), {});

const actionPath = (providerId: string, action: string) =>
  `/calls/${encodeURIComponent(providerId)}/actions/${action}`;

export const TELNYX_COMMANDS: VendorCommands = {
  kind: 'telnyx',
  write: writeCommands,
  carryOut: (account, { providerId, messageId, callback }, { requests }, place) =>
    withClient(account, async (client) => {
      const state = { ...place, callId: providerId, isOther: false };
      for (const [i, { action, body }] of requests.entries()) {
        const common = {
          client_state: writeState(state),
          command_id: uuidOf(`${messageId} ${place.step} ${place.index} ${i} ${action}`),
        };
        const own =
          action === 'transfer'
            ? {
                webhook_url: provenAddress(callback, messageId, account.secrets.apiKey),
                target_leg_client_state: writeState({ ...state, isOther: true }),
              }
            : {};
        const obeyed = obedienceOf(
          await client.post(actionPath(providerId, action), { ...body, ...own, ...common }),
        );
        if (obeyed !== 'done') return obeyed;
      }
      return 'done';
    }),
  interrupt: (account, providerId) =>
    withClient(account, async (client) => {
      // Without a place, their ends are no step's. Telnyx refuses to stop what does not go on, which changes nothing.
      const client_state = Buffer.from('[]').toString('base64');
      for (const action of ['gather_stop', 'playback_stop', 'record_stop']) {
        // With an id, because a second one would end what was said since.
        const body = { client_state, command_id: uuidOf(`${providerId} ${action}`) };
        const all = action === 'playback_stop' ? { ...body, stop: 'all' } : body;
        const obeyed = obedienceOf(await client.post(actionPath(providerId, action), all));
        if (obeyed === 'later') return obeyed;
      }
      return 'done';
    }),
  hangUp: (account, providerId) =>
    withClient(account, async (client) => obedienceOf(await hangUp(client, providerId))),
};

async function withClient<T>(account: VendorAccount, work: (client: JsonClient) => Promise<T>): Promise<T> {
  const client = openTelnyxClient(account, LIMITS.callDocumentMs);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** The call is not there any more: it was hung up meanwhile. */
const OVER: ReadonlySet<number> = new Set([404, 410]);
const OVER_CODES: ReadonlySet<string> = new Set(['90018', '90053', '90055']);

function obedienceOf(answer: HttpAnswer | NoAnswer): Obedience {
  if (!('status' in answer)) return 'later';
  if (answer.status < 300) return 'done';
  const word = readTelnyx(answer);
  if (word.kind !== 'refused') return 'later';
  if (OVER.has(answer.status) || OVER_CODES.has(word.code ?? '')) return 'over';
  return answer.status === 429 || answer.status >= 500 ? 'later' : 'refused';
}
