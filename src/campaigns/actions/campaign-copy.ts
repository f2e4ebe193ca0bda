import type { Kysely } from 'kysely';
import { databaseNow } from '../../domain/database-clock';
import { LIMITS } from '../../domain/limits';
import { lockContacts } from '../contacts/contacts';
import {
  type CampaignContent,
  type CampaignOptions,
  columnsOf,
  findCampaign,
  readCampaign,
} from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';
import { requireRoom } from '../model/workspace-room';
import { copyOwnAudience } from './own-audience';
import { ownColumns } from './save-campaign';

/**
 * Creates a draft with the content, audience and options of another campaign of the workspace. Its lists and
 * templates are checked when it starts, as for every draft, because the operator may want to replace them
 * first. Repeated with the same id, it returns the same draft.
 */
export async function copyCampaign(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  { campaignId, id, userId }: { campaignId: string; id: string; userId: string | undefined },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (await findCampaign(tx, workspaceId, id)) return;
    await requireRoom(tx, workspaceId, 'campaigns');
    let original = await readCampaign(tx, workspaceId, campaignId);
    if (original.ownListId !== undefined) {
      // Under this lock the own audience neither grows nor is replaced.
      await lockContacts(tx, workspaceId);
      original = await readCampaign(tx, workspaceId, campaignId);
    }
    const content: CampaignContent = {
      ...original,
      name: copyName(original.name),
      options: withoutPastTimes(original.options),
    };
    const inserted = await tx
      .insertInto('campaigns')
      .values({
        id,
        workspace_id: workspaceId,
        ...columnsOf(content),
        stage: 'draft',
        created_by: userId ?? null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    if (!inserted || original.ownListId === undefined) return;
    await tx
      .updateTable('campaigns')
      .set(ownColumns(await copyOwnAudience(tx, original.ownListId)))
      .where('id', '=', id)
      .where('workspace_id', '=', workspaceId)
      .execute();
  });
}

/** `Sale` becomes `Sale (copy)`, and that becomes `Sale (copy 2)`. */
export function copyName(name: string): string {
  const [, base = name, number] = /^(.*) \(copy(?: ([1-9]\d{0,5}))?\)$/s.exec(name) ?? [];
  const suffix = base === name ? ' (copy)' : ` (copy ${Number(number ?? 1) + 1})`;
  // By code points, so that no character is cut in two.
  const kept = [...base];
  while (kept.join('').length + suffix.length > LIMITS.campaignNameChars) kept.pop();
  return `${kept.join('').trimEnd()}${suffix}`;
}

/** Past times of the original mean nothing for its copy. */
function withoutPastTimes(options: CampaignOptions): CampaignOptions {
  if (!options.schedule) return options;
  const { startAt, endAt, recipientLocal, ...schedule } = options.schedule;
  const isAhead = (at: string | undefined) => at !== undefined && Date.parse(at) > databaseNow();
  const left = {
    ...schedule,
    ...(isAhead(startAt) ? { startAt } : {}),
    ...(recipientLocal && (isAhead(startAt) || schedule.cron !== undefined) ? { recipientLocal } : {}),
    ...(isAhead(endAt) ? { endAt } : {}),
  };
  const { schedule: _, ...others } = options;
  return Object.keys(left).length > 0 ? { ...others, schedule: left } : others;
}
