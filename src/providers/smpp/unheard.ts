import { LIMITS } from '../../domain/limits';
import type { Pdu } from './library';
import type { SmppSession } from './session';
import { ACCEPTED } from './statuses';

/**
 * Subscribers' messages that were not acknowledged before their session ended. The centre sends each of them once more, and
 * that is no second message. The same text on a session that stands, or after it was acknowledged, is one: a person wrote it
 * twice.
 */
export interface Unheard {
  /** Returns how to acknowledge it, on the session where the centre waits for that now. */
  add(pdu: Pdu, session: SmppSession): () => void;
  /** It is acknowledged when the first is, which may be at once. */
  isRepeated(pdu: Pdu, session: SmppSession): boolean;
}

interface One {
  pdu: Pdu;
  session: SmppSession;
  /** When it was taken, after its session had ended. */
  takenMs: number | undefined;
}

export function createUnheard(): Unheard {
  const byContent = new Map<string, One[]>();

  function forget(key: string, one: One): void {
    const others = (byContent.get(key) ?? []).filter((other) => other !== one);
    if (others.length > 0) byContent.set(key, others);
    else byContent.delete(key);
  }

  return {
    add(pdu, session) {
      const key = contentOf(pdu);
      const one: One = { pdu, session, takenMs: undefined };
      const [oldest] = byContent.keys();
      if (byContent.size >= 2 * LIMITS.smppDeliveries && oldest !== undefined) byContent.delete(oldest);
      byContent.set(key, [...(byContent.get(key) ?? []), one]);
      return () => {
        if (one.session.isOpen) {
          one.session.respond(one.pdu, ACCEPTED);
          forget(key, one);
        } else one.takenMs = Date.now();
      };
    },
    isRepeated(pdu, session) {
      const key = contentOf(pdu);
      const one = byContent.get(key)?.find((other) => !other.session.isOpen);
      if (!one) return false;
      if (one.takenMs === undefined) {
        one.pdu = pdu;
        one.session = session;
        return true;
      }
      forget(key, one);
      if (Date.now() - one.takenMs > LIMITS.smppRepeatMs) return false;
      session.respond(pdu, ACCEPTED);
      return true;
    },
  };
}

/** All but the number of the PDU, which is another each time. */
function contentOf(pdu: Pdu): string {
  const { command, source_addr, destination_addr, esm_class, data_coding, short_message, message_payload } =
    pdu;
  return JSON.stringify([
    ...[command, source_addr, destination_addr, esm_class, data_coding, short_message, message_payload],
    ...[pdu.sar_msg_ref_num, pdu.sar_segment_seqnum],
  ]);
}
