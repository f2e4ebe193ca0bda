import { sql } from 'kysely';
import type { SuppressionEntry, SuppressionRule } from '../campaigns/ports';
import { isSuppressed } from '../messaging/suppression/suppression-check';
import { suppressionEntry as entryOf } from '../messaging/suppression/suppression-evidence';

/**
 * The rule by which messages are accepted, for the statement that freezes an audience. It holds whichever
 * service a campaign is sent through: the list is the workspace's, and one that has no such list, or has
 * another, would write to whoever asked this workspace to stop.
 */
export const suppression: SuppressionRule = (workspaceId, { channel, from, address }) =>
  isSuppressed(workspaceId, { channel: sql`${channel}::text`, from: sql`${from}::text`, to: address });

/** The entry behind the rule's answer. */
export const suppressionEntry: SuppressionEntry = (workspaceId, { channel, from, address }) =>
  entryOf(workspaceId, { channel, to: address, from });
