import { type Kysely, sql } from 'kysely';
import { callFault } from '../../domain/call-codes';
import { parseMessageUid, parseSendMessageUid } from '../../domain/ids';
import type { MessageEvent } from '../../domain/message';
import type { CampaignTables } from '../model/tables';
import { type Place, releaseContacts } from './contact-caps';

/** States of messages that the service accepted and no recipient got. */
const UNSENT = ['canceled', 'expired', 'suppressed', 'rejected'];

/** Gives the places of such messages back, as the feed reports them. Without caps there are none. */
export async function releaseUnsent(
  tx: Kysely<CampaignTables>,
  workspaceId: string,
  events: readonly MessageEvent[],
): Promise<void> {
  const uids = [...new Set(events.filter(isUnsent).map(({ uid }) => uid))];
  if (!uids.length) return;
  await releaseContacts(tx, workspaceId, [
    ...(await ofRecipients(tx, workspaceId, uids)),
    ...(await ofSends(tx, workspaceId, uids)),
  ]);
}

export const tellsUnsent = (events: readonly MessageEvent[]) => events.some(isUnsent);

/** Whether places were ever taken in the workspace. */
export const countsContacts = (workspaceId: string) =>
  sql<boolean>`exists (select 1 from contact_uses where workspace_id = ${workspaceId})`;

/** A call that the other side declined was made; one whose number the carrier did not try was not. */
function isUnsent({ channel, type, state, code }: MessageEvent): boolean {
  if (channel !== 'voice') return UNSENT.includes(state);
  return type === 'failed' ? callFault(code) === 'carrier' : UNSENT.includes(state) && type !== 'rejected';
}

async function ofRecipients(
  tx: Kysely<CampaignTables>,
  workspaceId: string,
  uids: readonly string[],
): Promise<Place[]> {
  const keys = uids.flatMap((uid) => {
    const key = parseMessageUid(uid);
    return key ? [{ ...key, uid }] : [];
  });
  if (!keys.length) return [];
  const { rows } = await sql<Place>`
    select t.uid, r.address from recipients r join unnest(
      ${keys.map(({ uid }) => uid)}::text[], ${keys.map(({ runId }) => runId)}::text[],
      ${keys.map(({ channel }) => channel)}::text[], ${keys.map(({ seq }) => seq)}::int[]
    ) as t(uid, run_id, channel, seq) using (run_id, channel, seq)
    join runs on runs.id = t.run_id and runs.workspace_id = ${workspaceId}`.execute(tx);
  return rows;
}

async function ofSends(
  tx: Kysely<CampaignTables>,
  workspaceId: string,
  uids: readonly string[],
): Promise<Place[]> {
  const keys = uids.flatMap((uid) => {
    const key = parseSendMessageUid(uid);
    return key ? [{ ...key, uid }] : [];
  });
  if (!keys.length) return [];
  const { rows } = await sql<Place>`
    select t.uid, s.content ->> 'to' as address from durable_sends s join unnest(
      ${keys.map(({ uid }) => uid)}::text[], ${keys.map(({ sendId }) => sendId)}::text[]
    ) as t(uid, id) using (id) where s.workspace_id = ${workspaceId}`.execute(tx);
  return rows;
}
