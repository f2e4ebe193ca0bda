import { type Kysely, type Selectable, sql } from 'kysely';
import { type AccountState, kindOf } from '../../domain/account';
import { LIMITS } from '../../domain/limits';
import { newId } from '../../storage/new-id';
import type { MessagingTables } from '../model/tables';

type Stand = AccountState & { since: string };

/** What processes know of each other, by the ids of ways (carriers.ts). */
export interface PausesElsewhere {
  /** Whether another process that is refused too, and was first, tries the account. */
  isLed(way: string, sinceMs: number): boolean;
  /** Ways that an owner has put right at another process. */
  asked: ReadonlySet<string>;
}

type Row = Omit<Selectable<MessagingTables['account_pauses']>, 'lease_until'> & { is_trying: boolean };

/**
 * How accounts stand at other processes (decision 54). Each process finds out by itself whether a carrier refuses us, since it
 * may be refused alone; it publishes that for as long as it lasts. Of several that are refused, the first one tries for all.
 */
export class AccountPauses {
  private readonly owner = newId('proc');
  /** When an owner last asked for a try, by way. */
  private readonly heard = new Map<string, number>();

  constructor(private readonly db: Kysely<MessagingTables>) {}

  /** Publishes what is paused here, withdraws the rest, and reads what the other processes publish. */
  async exchange(paused: readonly Stand[]): Promise<PausesElsewhere> {
    await this.publish(paused);
    const rows = await this.read();
    const asked = new Set(rows.filter((row) => this.isNewRequest(row)).map(wayOf));
    const leaders = rows.filter((one) => one.owner !== this.owner && one.state === 'paused' && one.is_trying);
    return {
      asked,
      isLed: (way, sinceMs) => leaders.some((one) => wayOf(one) === way && this.isBefore(one, sinceMs)),
    };
  }

  /** The worst of what this and other processes know of each account and channel. */
  async with(own: readonly Stand[]): Promise<Stand[]> {
    const others = (await this.read()).filter(({ owner }) => owner !== this.owner).map(toStand);
    return own.map((stand) => {
      const same = others.filter(
        (one) =>
          one.account === stand.account && one.channel === stand.channel && stand.account !== undefined,
      );
      return [stand, ...same].reduce((worst, one) => (RANK[one.state] > RANK[worst.state] ? one : worst));
    });
  }

  /** For the other processes, which learn of it with their next poll. */
  async askForProbe(accountId: string): Promise<void> {
    await this.db
      .updateTable('account_pauses')
      .set({ probe_asked_at: sql<Date>`clock_timestamp()` })
      .where('account_id', '=', accountId)
      .where('owner', '<>', this.owner)
      .execute();
  }

  private isBefore({ since, owner }: Row, sinceMs: number): boolean {
    return since.getTime() === sinceMs ? owner < this.owner : since.getTime() < sinceMs;
  }

  private isNewRequest(row: Row): boolean {
    if (row.owner !== this.owner || row.probe_asked_at === null) return false;
    const atMs = row.probe_asked_at.getTime();
    if (this.heard.get(wayOf(row)) === atMs) return false;
    this.heard.set(wayOf(row), atMs);
    return true;
  }

  /** Rows of dead processes go too. Those that another process removes right now are passed over. */
  private async publish(paused: readonly Stand[]): Promise<void> {
    const { owner } = this;
    await sql`
      with current as (
        select * from unnest(
          ${paused.map(({ account }) => account ?? '')}::text[], ${paused.map(({ channel }) => channel)}::text[],
          ${paused.map(({ kind }) => kindOf(kind))}::text[], ${paused.map(({ state }) => state)}::text[],
          ${paused.map(({ reason }) => reason ?? null)}::text[], ${paused.map(({ since }) => since)}::timestamptz[],
          ${paused.map(({ nextTryAt }) => nextTryAt ?? null)}::timestamptz[]
        ) as t(account_id, channel, kind, state, reason, since, next_try_at)
      ), gone as (
        delete from account_pauses where ctid = any(array(
          select p.ctid from account_pauses p where case when p.owner = ${owner}
            then not exists (select from current t where t.account_id = p.account_id and t.channel = p.channel)
            else p.lease_until < now() end
          for update skip locked))
      )
      insert into account_pauses as p
        (account_id, channel, kind, state, reason, since, next_try_at, owner, lease_until)
      select t.*, ${owner}, now() + ${LIMITS.accountPauseLeaseMs}::int * interval '1 millisecond' from current t
      on conflict (account_id, channel, owner) do update set kind = excluded.kind, state = excluded.state,
        reason = excluded.reason, since = excluded.since, next_try_at = excluded.next_try_at,
        lease_until = excluded.lease_until
    `.execute(this.db);
  }

  private async read(): Promise<Row[]> {
    const { rows } = await sql<Row>`
      select account_id, channel, owner, kind, state, reason, since, next_try_at, probe_asked_at,
        next_try_at > now() - ${LIMITS.accountFollowMs}::int * interval '1 millisecond' as is_trying
      from account_pauses where lease_until > now()`.execute(this.db);
    return rows;
  }
}

const RANK = { ok: 0, throttled: 1, paused: 2 } as const;

/** As `wayId` of carriers.ts makes it. */
const wayOf = ({ account_id, channel }: Row): string => `${account_id}/${channel}`;

const toStand = ({ account_id, channel, kind, state, reason, since, next_try_at }: Row): Stand => ({
  ...{ channel, kind, account: account_id, state, since: since.toISOString() },
  ...(reason === null ? {} : { reason }),
  ...(next_try_at === null ? {} : { nextTryAt: next_try_at.toISOString() }),
});
