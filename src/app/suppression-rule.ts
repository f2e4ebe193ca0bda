import { sql } from 'kysely';
import type { SuppressionEntry, SuppressionRule } from '../campaigns/model/dependencies';
import { isSuppressed } from '../messaging/suppression/suppression-check';
import { suppressionEntry as entryOf } from '../messaging/suppression/suppression-evidence';

/**
 * The suppression rule of the messaging half, for the statement that freezes an audience. It applies whichever
 * service a campaign uses, because the list belongs to the workspace. A service without the list would write to
 * people who asked this workspace to stop.
 */
export const suppression: SuppressionRule = (workspaceId, { channel, from, address }) =>
  isSuppressed(workspaceId, { channel: sql`${channel}::text`, from: sql`${from}::text`, to: address });

/** The entry behind the rule's answer. */
export const suppressionEntry: SuppressionEntry = (workspaceId, { channel, from, address }) =>
  entryOf(workspaceId, { channel, to: address, from });
