import { type Kysely, sql } from 'kysely';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { stepRelease } from '../../src/campaigns/release/step-release';
import { offerChunk, recordChunk, takePage } from '../../src/campaigns/runs/ledger';
import { loadRun, moveRun } from '../../src/campaigns/runs/runs';
import type { Channel } from '../../src/domain/channel';
import type { RecipientState } from '../../src/domain/recipient';
import type { ReleaseOptions } from '../../src/domain/release';
import { plantRun } from './audience';

/** A run that is released in stages, frozen and not drawn, without a workflow: a test takes its steps. */
export class StagedRun {
  private constructor(
    readonly db: Kysely<CampaignTables>,
    readonly planted: Awaited<ReturnType<typeof plantRun>>,
  ) {}

  static async plant(
    db: Kysely<CampaignTables>,
    release: ReleaseOptions,
    {
      contacts = 20,
      channels = ['sms'],
      options = {},
    }: { contacts?: number; channels?: Channel[]; options?: Record<string, unknown> } = {},
  ): Promise<StagedRun> {
    const planted = await plantRun(db, { contacts, options: { release, ...options } });
    await db.updateTable('campaigns').set({ channels }).where('id', '=', planted.campaignId).execute();
    const turnOf = options.strategy === 'fallback' ? (i: number) => i : () => undefined;
    for (const [i, channel] of channels.entries()) {
      await freezeAudience(db, {
        ...{ runId: planted.runId, workspaceId: planted.workspaceId, channel, turn: turnOf(i) },
        ...{ contactListIds: [planted.listId], placeholders: [], campaignParams: {}, isStaged: true },
      });
    }
    await moveRun(db, planted.runId, 'running');
    return new StagedRun(db, planted);
  }

  get runId(): string {
    return this.planted.runId;
  }

  async step({
    tellsMore = true,
    closed = [],
    onStep,
  }: {
    tellsMore?: boolean;
    closed?: Channel[];
    onStep?: () => void;
  } = {}) {
    return stepRelease(this.db, await loadRun(this.db, this.runId), { tellsMore, closed, onStep });
  }

  /** Takes on all that is due on a channel, and records what becomes of it; answers the contacts. */
  async send(
    channel: Channel = 'sms',
    state: Exclude<RecipientState, 'pending' | 'sending'> = 'sent',
    count = 1_000,
  ): Promise<string[]> {
    const key = { runId: this.runId, channel, shard: 0 };
    const taking = await takePage(this.db, { ...key, lane: 0 }, count);
    if (taking.kind !== 'page') return [];
    const offered = await offerChunk(this.db, taking.page, count);
    await recordChunk(
      this.db,
      taking.page,
      offered.map(({ seq, attempt }) => ({ seq, attempt, state, attempted: true })),
    );
    return offered.map(({ contactId }) => contactId);
  }

  /** Moves what time has been written down of the stage back, as if so long had passed. */
  async pass(seconds: number): Promise<void> {
    const ago = sql`interval '1 second' * ${seconds}`;
    await sql`
      update run_stages set begun_at = begun_at - ${ago}, sent_at = sent_at - ${ago}, next_at = next_at - ${ago}
      where run_id = ${this.runId}`.execute(this.db);
  }

  async stage() {
    const [row] = (
      await sql<{ stage: number; sent: boolean; closed: boolean; nextInSeconds: number | null }>`
        select r.stage, s.sent_at is not null as sent, r.closed_at is not null as closed,
          10 * round(extract(epoch from s.next_at - clock_timestamp()) / 10)::int as "nextInSeconds"
        from run_releases r left join run_stages s on s.run_id = r.run_id and s.stage = r.stage
        where r.run_id = ${this.runId}`.execute(this.db)
    ).rows;
    return row;
  }

  async control(): Promise<{ control: string; reason: unknown }> {
    return this.db
      .selectFrom('runs')
      .select(['control', 'own_reason as reason'])
      .where('id', '=', this.runId)
      .executeTakeFirstOrThrow();
  }

  /** Contacts of the channel that wait for no stage any more. */
  async opened(channel: Channel = 'sms'): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select contact_id as id from recipients
      where run_id = ${this.runId} and channel = ${channel} and code is distinct from 'later_stage' order by 1`.execute(
      this.db,
    );
    return rows.map(({ id }) => id);
  }
}
