import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { LIMITS } from '../../domain/limits';
import { type ContactCap, type OptOutText, withSuffix } from '../../domain/policy';
import { type Skipped, type SkipReason, skippedOf } from '../../domain/recipient';
import { measureSms } from '../../domain/sms-encoding';
import { compileText } from '../../domain/template';
import { type ParamValue, requiredNames } from '../contacts/fill-params';
import type { CampaignTables } from '../model/tables';
import { isOverCap } from '../policy/contact-caps';
import { type Audience, rankedContacts } from './audience-sql';
import { planPlaces, UNKNOWN_PLACE } from './audience-time-zones';

/** What freezing an audience would give. */
export interface AudienceSurvey {
  /** Contacts of the lists, each once: the sum of recipients and skipped contacts. */
  contacts: number;
  recipients: number;
  skipped: Skipped;
  /** The first hundred contacts without a value for some placeholder. */
  offenders: { contactId: string; missing: string[] }[];
  /** Only for SMS whose text is known. */
  segments?: SegmentCount | undefined;
  /** Recipients by time zone; `UNKNOWN_PLACE` for recipients without a known one. */
  places: PlaceCount[];
  /** Recipients who have reached the workspace's caps at this moment. */
  overCap: number;
}

export interface PlaceCount {
  place: string;
  recipients: number;
}

export interface SegmentCount {
  /** Segments of all messages together, which is what carriers charge. */
  total: number;
  /** Segments of the longest message. */
  longest: number;
  /** Messages of more than one segment. */
  several: number;
  /** Messages that end with the policy's opt-out text. */
  withOptOutText: number;
}

/** What a survey needs besides the audience. */
export interface SurveyRules {
  /** Text of an SMS campaign, if the service gives it. */
  smsText: string | undefined;
  /** The policy's opt-out text, where it applies. */
  ending: OptOutText | undefined;
  /** SQL: whether a number has had a message that says how to opt out. */
  isTold(address: RawBuilder<unknown>): RawBuilder<boolean>;
  caps: readonly ContactCap[];
}

/**
 * Judges an audience by the same expressions that freeze it, and leaves nothing behind. The results are in a
 * temporary table that ends with the transaction. From it, an SMS campaign's texts are rendered a page at a
 * time.
 */
export async function surveyAudience(
  db: Kysely<CampaignTables>,
  audience: Audience,
  rules: SurveyRules,
): Promise<AudienceSurvey> {
  const survey = (tx: Transaction<CampaignTables>) => surveyIn(tx, audience, rules);
  return isTransaction(db) ? survey(db) : db.transaction().execute(survey);
}

const isTransaction = (db: Kysely<CampaignTables>): db is Transaction<CampaignTables> => db.isTransaction;

async function surveyIn(
  tx: Transaction<CampaignTables>,
  audience: Audience,
  { smsText, ending, isTold, caps }: SurveyRules,
): Promise<AudienceSurvey> {
  const keeps = smsText === undefined ? sql`reason = 'missing_params'` : sql`true`;
  const places = await planPlaces(tx, audience, { otherwise: UNKNOWN_PLACE, due: () => null });
  await sql`
    create temporary table surveyed on commit drop as
    with ${rankedContacts(audience, places)}
    select id, reason, place, ${overCap(audience, caps)} as over_cap,
      ${ending?.onlyFirst ? isTold(sql`ranked.address`) : sql`false`} as told, case when ${keeps} then params end as params from ranked`.execute(
    tx,
  );
  const { rows } = await sql<{ reason: SkipReason | null; contacts: number }>`
    select reason, count(*)::int as contacts from surveyed group by reason`.execute(tx);
  const left = rows.filter((row): row is { reason: SkipReason; contacts: number } => row.reason !== null);
  const found = {
    contacts: rows.reduce((sum, row) => sum + row.contacts, 0),
    recipients: rows.find((row) => row.reason === null)?.contacts ?? 0,
    skipped: skippedOf(left),
    offenders: await findOffenders(tx, audience.placeholders),
    segments: smsText === undefined ? undefined : await countSegments(tx, smsText, ending?.text),
    places: await countPlaces(tx),
    overCap: caps.length ? await countOverCap(tx) : 0,
  };
  // Dropped because the next channel may be surveyed in the same transaction.
  await sql`drop table surveyed`.execute(tx);
  return found;
}

async function findOffenders(
  tx: Transaction<CampaignTables>,
  placeholders: readonly string[],
): Promise<AudienceSurvey['offenders']> {
  const { rows } = await sql<{ id: string; names: string[] }>`
    select id, array(select jsonb_object_keys(params)) as names from surveyed
    where reason = 'missing_params' order by id limit ${LIMITS.dryRunOffenders}`.execute(tx);
  return rows.map(({ id, names }) => ({
    contactId: id,
    missing: requiredNames(placeholders).filter((name) => !names.includes(name)),
  }));
}

async function countPlaces(tx: Transaction<CampaignTables>): Promise<PlaceCount[]> {
  const { rows } = await sql<PlaceCount>`
    select place, count(*)::int as recipients from surveyed where reason is null group by place`.execute(tx);
  return rows;
}

function overCap({ workspaceId }: Audience, caps: readonly ContactCap[]) {
  return caps.length
    ? sql`reason is null and ${isOverCap(workspaceId, caps, sql`ranked.address`)}`
    : sql`false`;
}

async function countOverCap(tx: Transaction<CampaignTables>): Promise<number> {
  const { rows } = await sql<{ recipients: number }>`
    select count(*)::int as recipients from surveyed where over_cap`.execute(tx);
  return rows[0]?.recipients ?? 0;
}

/** Renders every message as it would be sent, because its length depends on the recipient's values. */
async function countSegments(
  tx: Transaction<CampaignTables>,
  smsText: string,
  ending: string | undefined,
): Promise<SegmentCount> {
  const text = compileText(smsText, 'none');
  const count: SegmentCount = { total: 0, longest: 0, several: 0, withOptOutText: 0 };
  await sql`declare texts no scroll cursor for select params, told from surveyed where reason is null`.execute(
    tx,
  );
  for (;;) {
    const { rows } = await sql<{ params: Record<string, ParamValue>; told: boolean }>`
      fetch forward ${sql.lit(LIMITS.dryRunPage)} from texts`.execute(tx);
    for (const { params, told } of rows) {
      const suffix = told ? undefined : ending;
      const { segments } = measureSms(withSuffix(text.render(params), suffix));
      if (suffix !== undefined) count.withOptOutText += 1;
      count.total += segments;
      count.longest = Math.max(count.longest, segments);
      if (segments > 1) count.several += 1;
    }
    if (rows.length < LIMITS.dryRunPage) break;
  }
  await sql`close texts`.execute(tx);
  return count;
}
