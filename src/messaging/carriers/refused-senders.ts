import { type Kysely, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import type { MessagingTables } from '../tables';

/** A receipt of a message that the carrier took and then refused for its sender. */
export interface RefusedByReceipt {
  id?: string | undefined;
  providerId?: string | undefined;
  code: string;
}

/** The senders of these messages, and when each was handed over. Messages of other accounts are passed over. */
export async function refusedSenders(
  db: Kysely<MessagingTables>,
  provider: string,
  receipts: readonly RefusedByReceipt[],
): Promise<{ channel: Channel; from: string; code: string; message: string; handedOverAt: string }[]> {
  if (receipts.length === 0) return [];
  const { rows } = await sql<{ channel: Channel; from: string; code: string; handedOverAt: Date | null }>`
    select m.channel, m.from_address as "from", r.code, (
      select max((e.value->>'at')::timestamptz) from jsonb_array_elements(m.history) e(value)
      where e.value->>'type' in ('sent', 'unknown')
    ) as "handedOverAt"
    from unnest(
      ${receipts.map(({ id }) => id ?? null)}::text[],
      ${receipts.map(({ providerId }) => providerId ?? null)}::text[],
      ${receipts.map(({ code }) => code)}::text[]
    ) as r(id, provider_id, code)
    join messages m on m.provider = ${provider} and (m.id = r.id or m.provider_id = r.provider_id)
  `.execute(db);
  return rows.map(({ handedOverAt, ...row }) => ({
    ...row,
    message: 'Refused in a receipt, after the message was taken',
    handedOverAt: (handedOverAt ?? new Date()).toISOString(),
  }));
}
