import { z } from 'zod';
import { countLivingProcesses, type ProcessTables } from '../app/processes';
import type { Config } from '../config';
import { credentialsFile } from '../credentials/credentials';
import { ownerOf } from '../storage/directory-lock';
import { readWithoutMigrating } from '../storage/look-at-postgres';
import { findRunning } from '../storage/managed/running-server';
import type { Check, CheckResult } from './doctor';
import { clockFinding } from './doctor-machine';
import { reasonOf, wayIn } from './unreachable';

const ANSWER_MS = 5_000;
const SEE_LOG = 'Look at what the other checks found, and at the log of the instance.';

/** Checks whether an instance answers, and what it reports about itself. */
export const lookAtInstance: Check = async ({ config, credentials }) => {
  const check = 'instance';
  const named = config.service.appUrl;
  const baseUrl = named ?? credentials?.baseUrl;
  if (!baseUrl) return [{ check, ...(await unknownAddress(config)) }];
  const answer = await ask(`${baseUrl}/readyz`);
  if ('problem' in answer) {
    const found = `nothing answers at ${baseUrl}: ${answer.problem}`;
    if (named)
      return [
        { check, state: 'broken', found, wayOut: answer.wayIn ?? 'Start it, or correct FANFARE_APP_URL.' },
      ];
    return [{ check, ...(await unanswered(config, found)), ...(answer.wayIn && { wayOut: answer.wayIn }) }];
  }
  const clock = clockFinding('the instance', answer.clockAheadMs);
  if (answer.status === 200) {
    return [{ check, state: 'ok', found: `${baseUrl} is ready` }, ...clock, ...refusedAccounts(answer.body)];
  }
  if (answer.status === 404) {
    return [
      { check, state: 'note', found: `${baseUrl} is a service that does not tell its state` },
      ...clock,
    ];
  }
  const { message } = z
    .looseObject({ message: z.string().catch('') })
    .catch({ message: '' })
    .parse(answer.body);
  const found = `${baseUrl} answers ${answer.status}${message ? `: ${message}` : ''}`;
  return [{ check, state: 'broken', found, wayOut: SEE_LOG }, ...clock];
};

/**
 * An instance that holds its directory and does not answer is faulty, and so is an address without an answer through which
 * other processes send campaigns. An instance that does not run may be meant not to.
 */
async function unanswered(config: Config, found: string): Promise<Omit<CheckResult, 'check'>> {
  if ((await ownerOf(config.dataDir)) !== undefined)
    return { state: 'broken', found, wayOut: 'Start one with `fanfare up`.' };
  const living = await livingProcesses(config);
  if (living === 0) {
    const commands = config.temporal.address ? '`fanfare up` or `fanfare serve`' : '`fanfare up`';
    return { state: 'note', found, wayOut: `Start one with ${commands}.` };
  }
  return {
    state: 'broken',
    found: `${found}, and ${processes(living)}`,
    wayOut:
      'Start `fanfare serve` there, because campaigns wait for it; or let FANFARE_AUTH_URL, FANFARE_SEND_URL and FANFARE_APP_URL name one that answers, and restart the workers.',
  };
}

/** Campaigns wait where processes run without credentials: the file was lost, because the first start writes it. */
async function unknownAddress(config: Config): Promise<Omit<CheckResult, 'check'>> {
  const living = config.service.clientId === undefined ? await livingProcesses(config) : 0;
  if (living === 0)
    return { state: 'note', found: 'none has been started here', wayOut: 'Start one with `fanfare up`.' };
  return {
    state: 'broken',
    found: `${processes(living)}, and ${credentialsFile(config.dataDir)} is not there`,
    wayOut:
      'Restore the file from its copy. Without one, campaigns wait until the variables are set that the log of the start names.',
  };
}

const processes = (living: number): string =>
  living === 1 ? '1 process of the installation runs' : `${living} processes of the installation run`;

/** None where the database does not say: that it is away, or has an earlier schema, is found with it. */
async function livingProcesses({ databaseUrl, dataDir }: Config): Promise<number> {
  const url = databaseUrl ?? (await findRunning(dataDir))?.url;
  if (url === undefined) return 0;
  return readWithoutMigrating<ProcessTables, number>(url, countLivingProcesses).catch(() => 0);
}

const readyAnswer = z.looseObject({
  accounts: z.array(
    z.looseObject({
      channel: z.string(),
      kind: z.string(),
      account: z.string().catch(''),
      state: z.string(),
      reason: z.string().catch('unknown'),
      since: z.string().catch('unknown'),
      nextTryAt: z.string().catch('unknown'),
    }),
  ),
});

/**
 * Carriers that refuse our account. This instance reports what it knows; each of several instances finds out by
 * itself.
 */
function refusedAccounts(body: unknown): CheckResult[] {
  const { accounts } = readyAnswer.catch({ accounts: [] }).parse(body);
  return accounts
    .filter(({ state }) => state === 'paused')
    .map(({ channel, kind, account, reason, since, nextTryAt }) => ({
      check: `${channel} account`,
      state: 'broken',
      found: `the carrier (${account === '' ? kind : `${kind}, ${account}`}) refuses our account since ${since}: ${reason}; the next try is at ${nextTryAt}`,
      wayOut: `Correct the key or the address of the ${channel} provider. Messages wait meanwhile, and leave when the carrier takes one.`,
    }));
}

const token = z.looseObject({ access_token: z.string(), capabilities: z.array(z.string()).optional() });

/** Checks whether the credentials that campaigns use are accepted by their service. */
export const lookAtService: Check = async ({ config, credentials }) => {
  const check = 'messaging service';
  const { service } = config;
  const hosted = service.clientId !== undefined;
  const clientId = service.clientId ?? credentials?.client.id;
  const clientSecret = service.clientSecret ?? credentials?.client.secret;
  const authUrl = service.authUrl ?? service.appUrl ?? credentials?.baseUrl;
  const sendUrl = service.sendUrl ?? service.appUrl ?? credentials?.baseUrl;
  if (hosted && (!authUrl || clientSecret === undefined)) {
    const missing = authUrl ? 'FANFARE_CLIENT_SECRET' : 'FANFARE_AUTH_URL';
    return [
      {
        check,
        state: 'broken',
        found: `FANFARE_CLIENT_ID is set and ${missing} is not`,
        wayOut: `Set ${missing}.`,
      },
    ];
  }
  if (!authUrl || clientId === undefined || clientSecret === undefined) return [];
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const answer = await ask(`${authUrl}/api/v1/auth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}`, 'content-type': 'application/json' },
    body: JSON.stringify({ grant_type: 'client_credentials', valid_hour: 1 }),
  });
  const source = hosted ? 'FANFARE_CLIENT_ID and FANFARE_CLIENT_SECRET' : 'the client of credentials.json';
  if ('problem' in answer) {
    // Our own service is checked with the instance.
    if (!hosted && !service.authUrl) return [];
    const found = `nothing answers at ${authUrl}: ${answer.problem}`;
    const wayOut = answer.wayIn ?? 'Correct FANFARE_AUTH_URL, or let this machine reach it.';
    return [{ check, state: 'broken', found, wayOut }];
  }
  const made = token.safeParse(answer.body);
  if (answer.status !== 200 || !made.success) {
    const found = `${authUrl} gives no token: it answers ${answer.status}`;
    const refused = hosted
      ? `Correct ${source}.`
      : 'If the secret of this client was rotated, write the new one into credentials.json, and restart.';
    const wayOut = answer.status >= 500 ? SEE_LOG : refused;
    return [{ check, state: 'broken', found, wayOut }];
  }
  const bearer = `Bearer ${made.data.access_token}`;
  const apiKey = service.apiKey ?? credentials?.apiKey;
  return [
    { check, state: 'ok', found: `${authUrl} gives tokens to ${source}` },
    ...(await lookAtKey({
      check,
      sendUrl,
      apiKey,
      bearer,
      tells: made.data.capabilities?.includes('events') ?? false,
    })),
  ];
};

/** A service with only the specification's endpoints cannot be checked without sending a message. */
async function lookAtKey(of: {
  check: string;
  sendUrl: string | undefined;
  apiKey: string | undefined;
  bearer: string;
  tells: boolean;
}): Promise<CheckResult[]> {
  const { check, sendUrl, apiKey, bearer, tells } = of;
  if (apiKey === undefined) {
    return [{ check, state: 'broken', found: 'there is no API key', wayOut: 'Set FANFARE_API_KEY.' }];
  }
  if (!tells || !sendUrl) {
    return [{ check, state: 'note', found: 'whether it takes the API key shows when something is sent' }];
  }
  const answer = await ask(`${sendUrl}/messages?limit=1`, {
    headers: { authorization: bearer, 'x-api-key': apiKey },
  });
  if ('status' in answer && answer.status === 200) return [];
  const said = 'status' in answer ? `answers ${answer.status}` : `does not answer: ${answer.problem}`;
  const wayOut = 'Correct FANFARE_API_KEY and FANFARE_SEND_URL, or the key in credentials.json.';
  return [{ check, state: 'broken', found: `with the API key, ${sendUrl} ${said}`, wayOut }];
}

type Answer =
  | { status: number; body: unknown; clockAheadMs: number }
  | { problem: string; wayIn?: string | undefined };

async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_MS) });
    const date = Date.parse(answer.headers.get('date') ?? '');
    // The header has no milliseconds, so assume the middle of its second.
    const clockAheadMs = Number.isNaN(date) ? 0 : date + 500 - Date.now();
    const body: unknown = await answer.json().catch(() => undefined);
    return { status: answer.status, body, clockAheadMs };
  } catch (error) {
    const reason = reasonOf(error as Error);
    return { problem: reason.message, wayIn: wayIn(url, reason) };
  }
}
