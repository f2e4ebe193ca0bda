import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type { Storage } from '../../src/storage/storage';
import { newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { withStorage } from './bench-database';
import { withPlace } from './campaign-rig';
import { median, note, numberOption, round2 } from './rig';

/**
 * What the audit log costs the calls that write it: `POST /api/campaign` (a draft) and `POST /api/admin/clients/{id}/rotate`, with it
 * and without it, by turns, over HTTP to two servers in this process that share one database. One call after the other, and
 * eight at once, which then wait for one another at the workspace's chain. Milliseconds a call, medians of the rounds, and the
 * quotient of each pair. `--calls N` a round, `--rounds N`.
 */
const AT_ONCE = 8;

export async function auditedPart(): Promise<unknown> {
  const calls = numberOption('--calls') ?? 200;
  const rounds = numberOption('--rounds') ?? 10;
  return withPlace((place) => withStorage(place, (storage) => measure(storage, { calls, rounds })));
}

type How = 'with' | 'without';

async function measure(
  storage: Storage,
  { calls, rounds }: { calls: number; rounds: number },
): Promise<unknown> {
  const servers: Record<How, WholeApi> = {
    with: await startWholeApi(storage),
    without: await startWholeApi(storage, { audited: false }),
  };
  try {
    const subject = await subjectOf(servers.with);
    const found: Record<string, unknown> = { calls, rounds };
    for (const [name, { path, body }] of Object.entries(subject.calls)) {
      for (const atOnce of [1, AT_ONCE]) {
        const timeOf = (how: How) =>
          timeACall(() => servers[how].call('POST', path, { headers: subject.headers, body }), {
            ...{ calls, atOnce },
          });
        for (const how of ['with', 'without'] as const) await timeOf(how);
        const pairs: Record<How, number>[] = [];
        for (let round = 0; round < rounds; round++) {
          note(`${name}, ${atOnce} at once: round ${round + 1} of ${rounds}`);
          const pair = { with: 0, without: 0 };
          for (const how of round % 2 === 0 ? (['with', 'without'] as const) : (['without', 'with'] as const))
            pair[how] = await timeOf(how);
          pairs.push(pair);
        }
        found[`${name}, ${atOnce} at once`] = summaryOf(pairs);
      }
    }
    return { ...found, entries: await entriesOf(storage.tables<object>()) };
  } finally {
    await servers.with.stop();
    await servers.without.stop();
  }
}

const summaryOf = (pairs: Record<How, number>[]) => ({
  withMs: round2(median(pairs.map((pair) => pair.with))),
  withoutMs: round2(median(pairs.map((pair) => pair.without))),
  quotient: round2(median(pairs.map((pair) => pair.with / pair.without))),
  quotients: pairs.map((pair) => round2(pair.with / pair.without)),
});

async function subjectOf(api: WholeApi) {
  const owner = await newWorkspace(api.identity);
  const { token } = await api.identity.login({ ...owner.user, address: 'bench' });
  const headers = { cookie: `session_token=${token}`, 'x-user-id': owner.user.id };
  const made = async (path: string, body: unknown) => (await api.call('POST', path, { headers, body })).body;
  const { template } = await made('/api/template', { templateName: 'T', channel: 'sms', body: 'Hello' });
  const { data: list } = await made('/api/contact-list', { name: 'L' });
  await made(`/api/contact-list/${list.id}/contacts`, {
    contacts: [{ externalId: 'a', phone: '+12025550143' }],
  });
  const campaign = {
    ...{ campaignId: null, name: 'C', channel: ['sms'], contactListId: [list.id], params: {}, start: false },
    settings: { sms: { shortCode: '12345', templateId: template.id, version: 1 } },
  };
  return {
    headers,
    calls: {
      'POST /api/campaign': { path: '/api/campaign', body: campaign },
      'POST /api/admin/clients/{id}/rotate': {
        path: `/api/admin/clients/${owner.client.id}/rotate`,
        body: { overlapHours: 0 },
      },
    },
  };
}

async function timeACall(
  call: () => Promise<{ status: number; body: unknown }>,
  { calls, atOnce }: { calls: number; atOnce: number },
): Promise<number> {
  let left = calls;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) {
        const { status, body } = await call();
        if (status >= 300) throw new Error(`A call was answered ${status}: ${JSON.stringify(body)}`);
      }
    }),
  );
  return (performance.now() - began) / calls;
}

async function entriesOf(db: Kysely<object>): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from audit_entries`.execute(db);
  return rows[0]?.count ?? 0;
}
