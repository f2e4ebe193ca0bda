import { type Kysely, sql } from 'kysely';
import type { OwnReason } from '../../domain/approval';
import type { Channel } from '../../domain/channel';
import type { RecipientState } from '../../domain/recipient';
import { attemptsMade, derivedState } from '../ledger/derived-state';
import type { CampaignTables } from '../model/tables';
import { type ListedRow, type RecipientView, viewOf, withCalls } from '../reports/recipients';
import { loadRun, type RunPlan } from '../runs/runs';

/** A recipient's place in the ledger. */
export interface RecipientRef {
  runId: string;
  channel: Channel;
  seq: number;
}

/** All that the ledger knows of one recipient. */
export interface RecipientFacts {
  view: RecipientView;
  /** As the row has it; `view` has the state that is derived. */
  stored: {
    state: RecipientState;
    attempt: number;
    /** The hour that they were given. The time to expire begins there, whatever they wait for. */
    dueAt: Date;
    retryAt: Date | null;
    place: string | null;
    turn: number | null;
    putBack: Date[];
  };
  key: RecipientRef & { shard: number };
  run: RunPlan;
  campaignName: string;
  finishedAt: Date | null;
  /** Why the run paused by itself, while it is paused for that. */
  ownReason: OwnReason | null;
  /** The audience is what the lists held at this moment. */
  frozenAt: Date;
  /** The campaign's lists that had the contact when the audience was frozen, and still have it. */
  lists: { id: string; name: string }[];
}

interface Row extends ListedRow {
  shard: number;
  state: RecipientState;
  place: string | null;
  turn: number | null;
  put_back: Date[] | null;
  name: string;
  started_at: Date;
  finished_at: Date | null;
  own_reason: OwnReason | null;
  begun_at: Date | null;
  lists: { id: string; name: string }[] | null;
}

/** Undefined for a recipient that the run does not have. The run is one of the workspace's. */
export async function readFacts(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  { runId, channel, seq }: RecipientRef,
): Promise<RecipientFacts | undefined> {
  const { rows } = await sql<Row>`
    select r.channel, r.seq, r.contact_id, r.address, r.outcome, r.code, r.attempt, r.due_at, r.retry_at, r.updated_at,
      ${attemptsMade} as attempts, ${derivedState} as derived,
      r.shard, r.state, r.place, r.turn, r.put_back,
      c.name, runs.started_at, runs.finished_at, runs.own_reason, f.begun_at, (
        select json_agg(json_build_object('id', l.id, 'name', l.name) order by l.name)
        from contact_lists l join contact_list_members m on m.list_id = l.id
        where l.workspace_id = ${workspaceId} and l.id = any(c.contact_list_ids) and m.contact_id = r.contact_id
          and m.added_at <= coalesce(f.begun_at, 'infinity')
      ) as lists
    from recipients r
    join shards s on s.run_id = r.run_id and s.channel = r.channel and s.shard = r.shard
    join runs on runs.id = r.run_id and runs.workspace_id = ${workspaceId}
    join campaigns c on c.id = runs.campaign_id
    left join audience_freezes f on f.run_id = r.run_id and f.channel = r.channel
    where r.run_id = ${runId} and r.channel = ${channel} and r.seq = ${seq}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const [view] = (await withCalls(db, runId, [viewOf(runId, row)])) as [RecipientView];
  return {
    view,
    stored: {
      ...{ state: row.state, attempt: row.attempt, dueAt: row.due_at, retryAt: row.retry_at },
      ...{ place: row.place, turn: row.turn },
      putBack: (row.put_back ?? []).map((at) => new Date(at)).sort((one, other) => +one - +other),
    },
    key: { runId, channel, seq, shard: row.shard },
    run: await loadRun(db, runId),
    ...{ campaignName: row.name, finishedAt: row.finished_at, ownReason: row.own_reason },
    frozenAt: row.begun_at ?? row.started_at,
    lists: row.lists ?? [],
  };
}

/**
 * Whether an attempt before the last one reached the carrier: a call that ended, or a message that the service took and
 * that has a successor. A refusal for the moment keeps the attempt's number.
 */
export function wasTried({ view, stored }: RecipientFacts): boolean {
  return view.channel === 'voice'
    ? view.outcome !== null && view.outcome !== view.state
    : stored.attempt > FIRST_ATTEMPT;
}

const FIRST_ATTEMPT = 0;
