import { z } from 'zod';
import { FanfareError } from '../client/fanfare-error';
import { isVendor } from '../domain/account';
import { LIMITS } from '../domain/limits';
import { VENDORS } from '../providers/vendor/vendors';
import { StartupError } from '../startup-error';
import { type ApiClient, createApiClient } from './api-client';
import type { Check, CheckContext, CheckResult } from './doctor';
import { publicUrlProblem } from './doctor-providers';

const account = z.looseObject({
  id: z.string(),
  name: z.string(),
  kind: z.string(),
  source: z.string(),
  disabled: z.boolean(),
  settings: z.record(z.string(), z.unknown()),
  secrets: z.array(z.string()),
  closedSenders: z.array(z.looseObject({ sender: z.string(), code: z.string() })).catch([]),
});
type Account = z.output<typeof account>;

const accounts = z.looseObject({ data: z.array(account) });
const routes = z.looseObject({
  data: z.looseObject({
    routes: z.array(z.looseObject({ accounts: z.array(z.looseObject({ account: z.string() })) })),
  }),
});
const checked = z.looseObject({ data: z.looseObject({ ok: z.boolean(), detail: z.string() }) });

const CHECK = 'accounts';

/**
 * Checks the accounts that were made by the API, as the running instance reaches their carriers. An owner has to ask; the
 * accounts of the environment are checked from here (doctor-providers.ts).
 */
export const lookAtAccounts: Check = async (patient) => {
  const api = ownerOf(patient);
  if (!api) return [];
  try {
    const { data: all } = await api.get('/api/admin/accounts', accounts);
    const made = all.filter(({ source, disabled }) => source === 'api' && !disabled);
    if (made.length === 0) return [];
    const { data } = await api.get('/api/admin/routes', routes);
    const routed = new Set(data.routes.flatMap((route) => route.accounts.map((one) => one.account)));
    const findings: CheckResult[] = [];
    // One after the other, because each check may hold a connection of the instance for seconds.
    for (const one of made.slice(0, LIMITS.accounts)) {
      findings.push(await lookAt(api, one, { isRouted: routed.has(one.id), patient }));
    }
    return findings;
  } catch (error) {
    // That nothing answers is found with the instance.
    if (error instanceof StartupError) return [];
    if (!(error instanceof FanfareError) || error.status === 0) throw error;
    if (error.status === 404) return [];
    const wayOut =
      error.status >= 500
        ? 'Run it again once the instance is ready.'
        : 'Run it with the credentials.json of the first user, or set FANFARE_SESSION_COOKIE to an owner’s session.';
    return [{ check: CHECK, state: 'note', found: `not checked: ${error.message}`, wayOut }];
  } finally {
    await api.close();
  }
};

function ownerOf({ config, credentials }: CheckContext): ApiClient | undefined {
  const { service } = config;
  const baseUrl = service.appUrl ?? credentials?.baseUrl;
  if (!baseUrl) return undefined;
  // An instance that is away is a finding, and the other findings wait for this one.
  const how = { baseUrl, signal: AbortSignal.timeout(LIMITS.doctorAccountsMs), retries: 0 };
  if (service.sessionCookie) return createApiClient({ ...how, sessionCookie: service.sessionCookie });
  return credentials && createApiClient({ ...how, user: credentials.user });
}

async function lookAt(
  api: ApiClient,
  { id, name, kind, settings, secrets, closedSenders }: Account,
  { isRouted, patient }: { isRouted: boolean; patient: CheckContext },
): Promise<CheckResult> {
  const check = `account ${id}`;
  const { data: found } = await api.post(`/api/admin/accounts/${encodeURIComponent(id)}/check`, {}, checked);
  const said = `${name} (${kind}): ${found.detail}`;
  if (!found.ok) {
    const wayOut = 'Correct the settings and secrets of the account, or let the instance reach its carrier.';
    return { check, state: 'broken', found: said, wayOut };
  }
  const missing = [
    ...(isRouted ? [] : ['no route names it, so that nothing leaves by it']),
    ...closedSenders.map(({ sender, code }) => `it refuses the sender ${sender} (${code})`),
    ...warningsOf(kind, settings, secrets, patient),
  ];
  if (missing.length === 0) return { check, state: 'ok', found: said };
  const wayOut = 'See docs/carriers for what to set there, and reopen senders that are registered by now.';
  return { check, state: 'note', found: `${said}; ${missing.join('; ')}`, wayOut };
}

/** What keeps a vendor's callbacks away. The names of secrets are known, and no value is needed. */
function warningsOf(
  kind: string,
  settings: Record<string, unknown>,
  names: readonly string[],
  { config }: CheckContext,
): string[] {
  const vendor = isVendor(kind) ? VENDORS[kind] : undefined;
  if (!vendor) return [];
  const secrets = Object.fromEntries(names.map((name) => [name, 'set']));
  const warnings = vendor.warnings({ id: '', settings: settings as Record<string, string>, secrets });
  return [...warnings, ...publicUrlProblem(config.http.publicUrl)];
}
