import { type Kysely, sql } from 'kysely';
import { BoundedCache } from '../../domain/bounded-cache';
import { LIMITS } from '../../domain/limits';
import { senderKey } from '../../domain/suppression';
import type { OutgoingMessage } from '../model/outgoing';
import type { MessagingTables } from '../model/tables';

/**
 * Which workspaces use which SMS senders, so that a STOP finds them even when the messages are deleted. It is
 * written before the first message of a sender is accepted, and cached; after that it costs one look into
 * memory.
 */
export interface SmsSenders {
  note(workspaceId: string, messages: readonly Pick<OutgoingMessage, 'channel' | 'from'>[]): Promise<void>;
}

export function createSmsSenders(db: Kysely<MessagingTables>): SmsSenders {
  const noted = new BoundedCache<true>(LIMITS.sendersNoted);

  return {
    async note(workspaceId, messages) {
      let last: string | undefined;
      const fresh = new Set<string>();
      for (const { channel, from } of messages) {
        // All messages of a campaign have the same sender.
        if (channel !== 'sms' || from === last) continue;
        last = from;
        const sender = senderKey(from);
        if (!noted.get(`${workspaceId} ${sender}`)) fresh.add(sender);
      }
      if (fresh.size === 0) return;
      await sql`
        insert into sms_senders (sender, workspace_id)
        select sender, ${workspaceId} from unnest(${[...fresh].sort()}::text[]) as given(sender)
        on conflict do nothing
      `.execute(db);
      for (const sender of fresh) noted.set(`${workspaceId} ${sender}`, true);
    },
  };
}
