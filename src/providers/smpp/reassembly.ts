import { LIMITS } from '../../domain/limits';
import type { InboundPart } from './inbound-text';

export interface WholeSms {
  from: string;
  to: string;
  text: string;
  /** To be called when it is taken. */
  taken(): void;
}

/**
 * Puts the parts of a subscriber's message together. A part is acknowledged when the whole is taken, so that
 * a process killed before is sent it again, or after `holdMs`, because some centres send nothing else until
 * then: from that moment a kill loses the part. What is never completed is given as it is, since half a STOP
 * must not be kept back.
 */
export interface Reassembly {
  add(sms: { from: string; to: string; part: InboundPart; acknowledge(): void }): void;
  close(): void;
}

interface Gathering {
  from: string;
  to: string;
  texts: (string | undefined)[];
  missing: number;
  waiting: Set<() => void>;
  timer: NodeJS.Timeout;
}

export function createReassembly(
  onWhole: (whole: WholeSms) => void,
  times: { holdMs: number; patienceMs: number } = {
    holdMs: LIMITS.inboundPartHoldMs,
    patienceMs: LIMITS.inboundPartsMs,
  },
): Reassembly {
  const gatherings = new Map<string, Gathering>();

  function begin(key: string, from: string, to: string, total: number): Gathering {
    // The oldest makes room: the newest may be complete in a moment.
    const oldest = gatherings.keys().next().value;
    if (gatherings.size >= LIMITS.inboundParts && oldest !== undefined) finish(oldest);
    const timer = setTimeout(() => finish(key), times.patienceMs);
    timer.unref();
    const gathering = {
      from,
      to,
      texts: Array(total).fill(undefined),
      missing: total,
      waiting: new Set<() => void>(),
      timer,
    };
    gatherings.set(key, gathering);
    return gathering;
  }

  function finish(key: string): void {
    const gathering = gatherings.get(key);
    if (!gathering) return;
    gatherings.delete(key);
    clearTimeout(gathering.timer);
    const { from, to, texts, waiting } = gathering;
    onWhole({ from, to, text: texts.join(''), taken: () => acknowledgeAll(waiting) });
  }

  return {
    add({ from, to, part: { text, joined }, acknowledge }) {
      if (!joined) return onWhole({ from, to, text, taken: acknowledge });
      const key = `${from} ${to} ${joined.reference} ${joined.total}`;
      const gathering = gatherings.get(key) ?? begin(key, from, to, joined.total);
      if (gathering.texts[joined.number - 1] === undefined) gathering.missing -= 1;
      gathering.texts[joined.number - 1] = text;
      let isAcknowledged = false;
      const once = (): void => {
        if (isAcknowledged) return;
        isAcknowledged = true;
        clearTimeout(hold);
        acknowledge();
      };
      const hold = setTimeout(() => {
        gathering.waiting.delete(once);
        once();
      }, times.holdMs);
      hold.unref();
      gathering.waiting.add(once);
      if (gathering.missing === 0) finish(key);
    },
    close() {
      for (const { timer } of gatherings.values()) clearTimeout(timer);
      gatherings.clear();
    },
  };
}

function acknowledgeAll(waiting: Iterable<() => void>): void {
  for (const acknowledge of [...waiting]) acknowledge();
}
