import { BoundedCache } from '../../domain/bounded-cache';
import { LIMITS } from '../../domain/limits';
import type { InboundPart } from './inbound-text';
import type { JoinedPart } from './parts';

export interface WholeSms {
  from: string;
  to: string;
  text: string;
  /** To be called when it is taken. */
  taken(): void;
}

/**
 * Puts the parts of a subscriber's message together. A part is acknowledged when the whole is taken, so that
 * a process killed before is sent it again. After `holdMs` the parts that are there are given to `onPart` one by one, to be
 * stored and acknowledged, because some centres send nothing else until then. The store completes them, as it does those
 * that come later.
 */
export interface Reassembly {
  add(sms: { from: string; to: string; part: InboundPart; acknowledge(): void }): void;
  close(): void;
}

interface Gathering {
  parts: { what: JoinedPart; acknowledge(): void }[];
  timer: NodeJS.Timeout;
}

export function createReassembly(
  onWhole: (whole: WholeSms) => void,
  onPart: (part: { what: JoinedPart; acknowledge(): void }) => void,
  holdMs: number = LIMITS.inboundPartHoldMs,
): Reassembly {
  const gatherings = new Map<string, Gathering>();
  // A further part of such a message need not be held.
  const stored = new BoundedCache<true>(LIMITS.inboundParts);

  function begin(key: string): Gathering {
    const oldest = gatherings.keys().next().value;
    if (gatherings.size >= LIMITS.inboundParts && oldest !== undefined) store(oldest);
    const timer = setTimeout(() => store(key), holdMs);
    timer.unref();
    const gathering: Gathering = { parts: [], timer };
    gatherings.set(key, gathering);
    return gathering;
  }

  function end(key: string): Gathering['parts'] {
    const gathering = gatherings.get(key);
    gatherings.delete(key);
    clearTimeout(gathering?.timer);
    return gathering?.parts ?? [];
  }

  function store(key: string): void {
    stored.set(key, true);
    for (const part of end(key)) onPart(part);
  }

  return {
    add({ from, to, part: { text, joined }, acknowledge }) {
      if (!joined) return onWhole({ from, to, text, taken: acknowledge });
      const key = `${from} ${to} ${joined.reference} ${joined.total}`;
      const part = { what: { from, to, text, joined }, acknowledge };
      if (stored.get(key)) return onPart(part);
      const { parts } = gatherings.get(key) ?? begin(key);
      parts.push(part);
      const texts = new Map(parts.map(({ what }) => [what.joined.number, what.text]));
      if (texts.size < joined.total) return;
      end(key);
      const whole = Array.from({ length: joined.total }, (_, i) => texts.get(i + 1)).join('');
      const taken = () => {
        for (const one of parts) one.acknowledge();
      };
      onWhole({ from, to, text: whole, taken });
    },
    /** What was not acknowledged the centre sends again. */
    close() {
      for (const { timer } of gatherings.values()) clearTimeout(timer);
      gatherings.clear();
    },
  };
}
