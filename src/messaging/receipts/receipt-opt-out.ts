import { type Kysely, sql } from 'kysely';
import { CALL_ENDS, type ReceiptType } from '../../domain/message';
import type { Suppression } from '../../domain/suppression';
import { documentKeys, isOptOut } from '../../domain/voice/opt-out-keys';
import type { MessagingTables } from '../model/tables';
import type { TemplateVersions } from '../templates/template-versions';
import { type ReceiptTarget, storableData } from './receipt-change';
import type { Change, FromProvider, Targets } from './receipt-rows';
import { isHandedOver, targetOf } from './receipt-sort';

/** The receipts, those with an opt-out marked, and the number of each such message. */
export interface Marked {
  receipts: readonly FromProvider[];
  numbers: ReadonlyMap<string, string>;
}

/**
 * Finds calls in which the callee pressed an opt-out key of the message's document, whichever provider made the
 * call (api.md 9). Receipts are marked before they are compared with known events, so that a repeated receipt
 * stays a repetition. For receipts of other channels it only checks the channel.
 */
export async function markOptOuts(
  deps: { db: Kysely<MessagingTables>; templates: TemplateVersions },
  receipts: readonly FromProvider[],
  targets: Targets,
): Promise<Marked> {
  const asking = receipts.filter((from) => mayAsk(from, targetOf(from, targets)));
  if (asking.length === 0) return { receipts, numbers: NONE };
  const ids = asking.map((from) => targetOf(from, targets)?.id as string);
  const calls = new Map((await readCalls(deps.db, ids)).map((call) => [call.id, call]));
  const optOuts = new Set<FromProvider>();
  const numbers = new Map<string, string>();
  for (const from of asking) {
    const target = targetOf(from, targets) as ReceiptTarget;
    const call = calls.get(target.id);
    const told = saysSo(from.receipt.data) || hasOptedOut(target);
    if (!call || !(told || (await pressed(deps.templates, call, from.receipt.data)))) continue;
    optOuts.add(from);
    numbers.set(call.id, call.to_address);
  }
  return { receipts: receipts.map((from) => (optOuts.has(from) ? marked(from) : from)), numbers };
}

const NONE: ReadonlyMap<string, string> = new Map();

/** Suppresses their numbers for all calls of the workspace. */
export function blocksFor(changes: readonly Change[], numbers: ReadonlyMap<string, string>): Suppression[] {
  return changes.flatMap(({ target, event }) => {
    const address = event.data?.optedOut === true ? numbers.get(target.id) : undefined;
    return address === undefined
      ? []
      : [{ channel: 'voice' as const, address, reason: 'voice_opt_out', sender: undefined }];
  });
}

const ENDS: ReadonlySet<ReceiptType> = new Set(CALL_ENDS);

/** A receipt that comes before its hand-over is left unmarked, because it is looked at again later. */
function mayAsk({ receipt: { type, data } }: FromProvider, target: ReceiptTarget | undefined): boolean {
  if (target?.channel !== 'voice' || !isHandedOver(target)) return false;
  if (type !== 'digits' && !ENDS.has(type)) return false;
  return data?.digits !== undefined || saysSo(data) || hasOptedOut(target);
}

/**
 * A campaign trusts the carrier's outcome. A callee whom it counts as `opted_out` must not be called by another
 * campaign either.
 */
const saysSo = (data: Record<string, unknown> | undefined): boolean =>
  data?.optedOut === true || data?.outcome === 'opted_out';

const hasOptedOut = ({ history }: ReceiptTarget): boolean =>
  history.some(({ data }) => data?.optedOut === true);

function marked(from: FromProvider): FromProvider {
  const { receipt } = from;
  // If the data has its full size already, keep only this part, because it matters most.
  const data = storableData({ ...receipt.data, optedOut: true }) ?? { optedOut: true };
  return { ...from, receipt: { ...receipt, data } };
}

interface CallRow {
  id: string;
  workspace_id: string;
  to_address: string;
  template_id: string | null;
  template_version: number | null;
  params: Record<string, string | number>;
}

async function readCalls(db: Kysely<MessagingTables>, ids: readonly string[]): Promise<CallRow[]> {
  const { rows } = await sql<CallRow>`
    select id, workspace_id, to_address, template_id, template_version, params
    from messages where id = any(${ids}::text[]) and to_address is not null
  `.execute(db);
  return rows;
}

async function pressed(
  templates: TemplateVersions,
  call: CallRow,
  data: Record<string, unknown> | undefined,
): Promise<boolean> {
  // Keys of other documents are not the message's; the service that ran them reports their meaning itself.
  if (call.template_id === null || data?.document !== undefined || data?.documents !== undefined)
    return false;
  const version = call.template_version ?? undefined;
  const template = await templates.get(call.workspace_id, call.template_id, version);
  if (!template?.optOut) return false;
  const keys = template.optOut.all.includes('{')
    ? (documentKeys(template.body.render(call.params)) ?? template.optOut)
    : template.optOut;
  const digits = typeof data?.digits === 'number' ? String(data.digits) : data?.digits;
  return isOptOut(keys, digits, data?.gather);
}
