import type { Receipt } from '../providers/provider';
import type { CallFacts, CommandPlace } from '../providers/vendor/call-control';
import type { CallCommands, Obedience } from '../providers/vendor/vendor';
import { FIRST, type NextStep, type VendorCalls } from './vendor-calls';

/**
 * Calls at a carrier that fetches no documents of ours. The carrier reports what happens in a call, and each report is answered with
 * the next command, because the carrier does nothing by itself.
 *
 * ```
 * answered ─▶ command 0 of the document ─▶ its end ─▶ command 1 ─▶ … ─▶ the last end
 *                     ▲                                                       │
 *                     └──────────── the next document of the call ◀───────────┘
 * ```
 */
/** A call as the carrier's adapter commands it. */
export interface CommandedCall {
  calls: Pick<VendorCalls, 'goOn'>;
  /** What the call's messages are stored with. */
  provider: string;
  write(instructions: NextStep['instructions']): readonly CallCommands[];
  carryOut(commands: CallCommands, place: CommandPlace): Promise<Obedience>;
  /** Stores what became known. */
  take(receipts: Receipt[]): Promise<void>;
}

/**
 * Answers an event of a call with the next command. Nothing is kept of what was commanded, because the event brings its place
 * back and the facts of the call say where it stands. So any process can answer. An event that comes again, for example after a crash
 * before the command, gives the same command with the same id, so that the carrier carries it out once.
 */
export async function commandNext(call: CommandedCall, facts: CallFacts): Promise<Obedience | undefined> {
  const { calls, provider, write } = call;
  const { progress } = facts;
  if (!progress) return undefined;
  const now = await calls.goOn(provider, 'place' in progress ? undefined : FIRST, facts);
  if (!now) return undefined;
  await call.take(now.receipts);
  if (!('place' in progress)) return commandFrom(call, now, 0, facts);
  const { step, index } = progress.place;
  if ('pressed' in progress) {
    const { stop } = (step === now.step && write(now.instructions)[index]) || {};
    if (!stop || progress.pressed === '' || !stop.keys.includes(progress.pressed)) return undefined;
    return call.carryOut({ requests: stop.requests, ends: 'recording' }, progress.place);
  }
  if (step !== now.step) return isBefore(step, now.step) ? commandFrom(call, now, 0, facts) : undefined;
  // An interrupted command may end later, and its event then has the name of the command that came after it.
  if (write(now.instructions)[index]?.ends !== progress.ended) return undefined;
  return commandFrom(call, now, index + 1, facts);
}

/** Commands the present step of the call again, from its beginning. */
export async function commandAgain(call: CommandedCall, facts: CallFacts): Promise<Obedience | undefined> {
  const now = await call.calls.goOn(call.provider, undefined, facts);
  return now && commandFrom(call, now, 0, facts);
}

async function commandFrom(
  call: CommandedCall,
  first: NextStep,
  from: number,
  facts: CallFacts,
): Promise<Obedience | undefined> {
  let [now, index] = [first, from];
  for (;;) {
    const commands = call.write(now.instructions)[index];
    if (commands && commands.ends !== 'at_once') return call.carryOut(commands, { step: now.step, index });
    const next = await call.calls.goOn(call.provider, now.step, facts);
    if (!next || next.step === now.step) return undefined;
    await call.take(next.receipts);
    [now, index] = [next, 0];
  }
}

/** Steps are `turn.number`. A step of another turn was interrupted. */
function isBefore(one: string, other: string): boolean {
  const [turn, step] = one.split('.').map(Number);
  const [nowTurn, nowStep] = other.split('.').map(Number);
  return turn === nowTurn && (step ?? 0) < (nowStep ?? 0);
}
