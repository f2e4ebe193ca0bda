import { hash } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { MessagingTables } from '../model/tables';

/** False when the token came before with another body, at any process. Each call forgets a few that are too old. */
export async function isFirstUse(
  db: Kysely<MessagingTables>,
  account: string,
  token: string,
  body: Buffer,
): Promise<boolean> {
  const [tokenHash, bodyHash] = [hash('sha256', token, 'buffer'), hash('sha256', body, 'buffer')];
  const { rows } = await sql<{ isSame: boolean }>`
    with forgotten as (
      delete from event_tokens where ctid = any(array(
        select ctid from event_tokens where at < now() - ${LIMITS.eventTokenHours} * interval '1 hour' limit 10
      ))
    )
    insert into event_tokens as known (account, token, body) values (${account}, ${tokenHash}, ${bodyHash})
    on conflict (account, token) do update set body = known.body
    returning known.body = ${bodyHash} as "isSame"`.execute(db);
  return rows[0]?.isSame === true;
}
