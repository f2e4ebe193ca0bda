import { sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { createContactRoom, requireRoom } from '../../../src/campaigns/model/workspace-room';
import { LIMITS } from '../../../src/domain/limits';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';

describeWithDatabase('the room of a workspace', (database) => {
  test('a workspace with as many lists as it may have gets no more, and others do', async () => {
    const db = (await database.open()).tables<CampaignTables>();
    await sql`
      insert into contact_lists (id, workspace_id, name)
      select 'lst_' || n, 'ws_full', 'List ' || n from generate_series(1, ${LIMITS.listsPerWorkspace}) n`.execute(
      db,
    );
    await expect(requireRoom(db, 'ws_full', 'contact_lists')).rejects.toMatchObject({
      code: 'limit_reached',
    });
    await requireRoom(db, 'ws_other', 'contact_lists');
    await requireRoom(db, 'ws_full', 'campaigns');
  });

  test('archiving campaigns makes room for others, because they cannot be deleted', async () => {
    const db = (await database.open()).tables<CampaignTables>();
    const { workspaceId, campaignId } = await plantRun(db, { contacts: 1 });
    await sql`
      insert into campaigns select made.*
      from campaigns c, generate_series(2, ${LIMITS.campaignsPerWorkspace}) n,
        jsonb_populate_record(c, jsonb_build_object('id', 'cmp_' || n)) made
      where c.id = ${campaignId}`.execute(db);
    await expect(requireRoom(db, workspaceId, 'campaigns')).rejects.toThrow(
      'at most 100000 campaigns; archive some that have ended first',
    );
    await sql`update campaigns set archived_at = now() where id = ${campaignId}`.execute(db);
    await requireRoom(db, workspaceId, 'campaigns');
  });

  test('contacts are counted in the background, and counted anew later', async () => {
    const db = (await database.open()).tables<CampaignTables>();
    let nowMs = 0;
    const room = createContactRoom(db, () => nowMs, 2);
    const add = (id: string) =>
      sql`insert into contacts (id, workspace_id, identity, email, params)
        values (${id}, 'ws_full', ${`e:${id}@example.com`}, ${`${id}@example.com`}, '{}')`.execute(db);
    await add('con_1');
    room.require('ws_full');
    await add('con_2');
    nowMs += LIMITS.contactCountSeconds * 1_000;
    await until('the contacts are counted', () => {
      nowMs += LIMITS.contactCountSeconds * 1_000;
      try {
        room.require('ws_full');
      } catch (error) {
        expect(error).toMatchObject({ code: 'limit_reached' });
        return true;
      }
      return false;
    });
    room.require('ws_other');
  });
});
