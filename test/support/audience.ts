import { type Kysely, sql } from 'kysely';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import type { Channel } from '../../src/domain/channel';
import { campaignRunWorkflowId } from '../../src/domain/ids';
import { newId } from '../../src/storage/new-id';

/** A campaign with a live run and a list of contacts, put straight into the tables. */
export async function plantRun(
  db: Kysely<CampaignTables>,
  options: { contacts: number; channel?: Channel; workspaceId?: string; options?: Record<string, unknown> },
): Promise<{ runId: string; campaignId: string; listId: string; workspaceId: string; channel: Channel }> {
  const channel = options.channel ?? 'sms';
  const workspaceId = options.workspaceId ?? newId('wsp');
  const listId = newId('lst');
  const campaignId = newId('cmp');
  const runId = newId('run');
  await sql`
    with made as (
      insert into contacts (id, workspace_id, identity, name, email, phone)
      select ${listId} || '-' || lpad(i::text, 7, '0'), ${workspaceId}, 'x:' || ${listId} || i, 'Name ' || i,
        'person' || i || '@example.com', '+1202' || lpad((i + 2000000)::text, 7, '0')
      from generate_series(1, ${options.contacts}::int) i returning id
    )
    insert into contact_list_members (list_id, contact_id) select ${listId}, id from made`.execute(db);
  await db
    .insertInto('campaigns')
    .values({
      id: campaignId,
      workspace_id: workspaceId,
      name: campaignId,
      channels: [channel],
      settings: JSON.stringify({
        email: { fromEmail: 'news@example.com', templateId: 'tpl_1', version: 1 },
        sms: { shortCode: '12345', templateId: 'tpl_1', version: 1 },
        voice: { callerId: '+12025550100', templateId: 'tpl_1', version: 1 },
      }),
      contact_list_ids: [listId],
      options: JSON.stringify(options.options ?? {}),
      stage: 'started',
      current_run: runId,
    })
    .execute();
  await db
    .insertInto('runs')
    .values({
      id: runId,
      workspace_id: workspaceId,
      campaign_id: campaignId,
      number: 1,
      phase: 'planning',
      workflow_id: campaignRunWorkflowId(runId, 1),
      skipped: '{}',
    })
    .execute();
  return { runId, campaignId, listId, workspaceId, channel };
}

/** The same, with its audience frozen. */
export async function plantAudience(
  db: Kysely<CampaignTables>,
  options: { contacts: number; channel?: Channel; workspaceId?: string; options?: Record<string, unknown> },
): ReturnType<typeof plantRun> {
  const planted = await plantRun(db, options);
  await freezeAudience(db, {
    runId: planted.runId,
    workspaceId: planted.workspaceId,
    channel: planted.channel,
    contactListIds: [planted.listId],
    placeholders: ['NAME'],
    campaignParams: {},
  });
  return planted;
}
