import { performance } from 'node:perf_hooks';
import { sql } from 'kysely';
import type { Storage } from '../../src/storage/storage';
import type { ApiClient } from '../support/api-client';
import { type Place, readCredentials, untilReady } from '../support/fanfare-process';
import { withStorage } from './bench-database';
import { median, note, startProduct } from './rig';

const SAMPLES = 200;
const TEMPLATES = 5_000;
const EVENTS_IN_ROW = 500;

/**
 * Writes so many ended messages and their events into the database of an installation that is not running.
 * Answers the number of the first event.
 */
export async function fillMessages(place: Place, count: number): Promise<number> {
  note(`filling in ${count} messages`);
  const first = startProduct(place);
  await untilReady(first);
  await first.stop();
  const workspace = readCredentials(place).workspace.id;
  return withStorage(place, (storage) => fill(storage, workspace, count));
}

async function fill(storage: Storage, workspace: string, count: number): Promise<number> {
  const db = storage.tables<Record<string, never>>();
  const { rows } = await sql<{ first: number }>`
    insert into event_heads (workspace_id, next_seq) values (${workspace}, ${count}::int + 1)
    on conflict (workspace_id) do update set next_seq = event_heads.next_seq + ${count}::int
    returning next_seq - ${count}::int as first
  `.execute(db);
  const firstEvent = rows[0]?.first ?? Number.NaN;
  const slice = 50_000;
  for (let from = 0; from < count; from += slice) {
    const to = Math.min(count, from + slice) - 1;
    await sql`
      insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class, campaign,
        payload_hash, state, lane, accepted_seq, attempt, provider, history, created_at, updated_at)
      select 'msg_old' || lpad(i::text, 10, '0'), ${workspace}, 'old-' || i, 'sms', '+12025550100', '12345',
        '{"NAME": "Ada"}', 'marketing', 'old-' || i / 100000, 'hash', 'delivered', 'lane_none', i * 3, 1,
        'simulator', '[{"seq": 1, "at": "2026-01-01T00:00:00.000Z", "type": "sent", "state": "sent"}]',
        timestamptz '2026-01-01' + i * interval '1 millisecond',
        timestamptz '2026-01-01' + i * interval '1 millisecond'
      from generate_series(${from}::int, ${to}::int) i
    `.execute(db);
    await sql`
      insert into event_log (workspace_id, first_seq, count, at, events)
      select ${workspace}, ${firstEvent}::bigint + i * ${EVENTS_IN_ROW}::int, ${EVENTS_IN_ROW}::int, now(), (
        select json_agg(json_build_object('uid', 'old-' || e, 'id', 'msg_old' || e, 'channel', 'sms',
          'type', 'sent', 'state', 'sent'))
        from generate_series(1, ${EVENTS_IN_ROW}::int) e
      )
      from generate_series(${from / EVENTS_IN_ROW}::int, ${Math.floor(to / EVENTS_IN_ROW)}::int) i
    `.execute(db);
  }
  await sql`
    insert into templates (id, workspace_id, channel, name, current_version, search_text)
    select 'tpl_old' || lpad(i::text, 8, '0'), ${workspace}, 'sms', 'Old template ' || i, 1, 'old template ' || i
    from generate_series(1, ${TEMPLATES}::int) i
  `.execute(db);
  await sql`
    insert into template_counts (workspace_id, channel, live) values (${workspace}, 'sms', ${TEMPLATES}::int)
    on conflict (workspace_id, channel) do update set live = template_counts.live + excluded.live
  `.execute(db);
  await sql`
    insert into template_versions (template_id, version, body)
    select 'tpl_old' || lpad(i::text, 8, '0'), 1, 'Hello {{NAME}}'
    from generate_series(1, ${TEMPLATES}::int) i
  `.execute(db);
  await sql`analyze`.execute(db);
  return firstEvent;
}

export async function readStored(api: ApiClient, count: number, firstEvent: number) {
  note('reading beside them');
  return {
    messages: count,
    templates: TEMPLATES,
    templateListMs: await timed(api, () => '/api/template/?channel=sms&page=2&pageSize=20'),
    templateSearchMs: await timed(api, (i) => `/api/template/?channel=sms&search=template%20${i * 20}`),
    messageByUidMs: await timed(api, (i) => `/messages/old-${(i * 7_919) % count}`),
    messageListMs: await timed(api, () => '/messages?limit=100'),
    messageListByTagMs: await timed(api, () => '/messages?campaign=old-3&limit=100'),
    messageListByStateMs: await timed(api, () => '/messages?state=delivered&limit=100'),
    feedPageMs: await timed(
      api,
      (i) => `/events?limit=100&after=${feedCursor(firstEvent + Math.floor((count / SAMPLES) * i))}`,
    ),
  };
}

/** As the feed itself writes it (src/messaging/events/events.ts). */
const feedCursor = (seq: number) => `e${seq.toString(36)}`;

async function timed(api: ApiClient, path: (i: number) => string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < SAMPLES; i++) {
    const begun = performance.now();
    await api.expect('GET', path(i));
    times.push(performance.now() - begun);
  }
  return Math.round(median(times) * 100) / 100;
}
