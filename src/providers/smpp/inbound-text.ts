import { decodeGsm7 } from './gsm7';
import type { Pdu } from './library';

/** One deliver_sm of a subscriber's: the whole of what he wrote, or a part of it. */
export interface InboundPart {
  text: string;
  /** Where it belongs, if it is one of several. */
  joined: { reference: number; total: number; number: number } | undefined;
}

const UDH_INDICATOR = 0x40;

/** `undefined` when it holds no text. */
export function readInbound(pdu: Pdu): InboundPart | undefined {
  let octets = (pdu.short_message?.length ? pdu.short_message : pdu.message_payload) ?? Buffer.alloc(0);
  let joined = joinedByTlvs(pdu);
  if (((pdu.esm_class ?? 0) & UDH_INDICATOR) !== 0 && octets.length > 0) {
    const end = 1 + (octets[0] as number);
    joined = joinedByHeader(octets.subarray(1, end)) ?? joined;
    octets = octets.subarray(end);
  }
  const text = textOf(octets, pdu.data_coding ?? 0);
  return text === undefined ? undefined : { text, joined };
}

/** By the alphabet that the data coding names (SMPP 3.4, 5.2.19). */
function textOf(octets: Buffer, dataCoding: number): string | undefined {
  switch (dataCoding < 0x10 ? dataCoding : codingWithClass(dataCoding)) {
    case 0:
      return decodeGsm7(octets);
    case 1:
    case 3:
      return octets.toString('latin1');
    case 8:
      // Half a character at the end is none.
      return Buffer.from(octets.subarray(0, octets.length & ~1))
        .swap16()
        .toString('utf16le');
    case 6:
      return new TextDecoder('iso-8859-5').decode(octets);
    case 7:
      return new TextDecoder('iso-8859-8').decode(octets);
    default:
      return undefined;
  }
}

/** From 0x10 on SMPP leaves the meaning to 3GPP TS 23.038 (4): the lowest bits are a class, and others name the alphabet. */
function codingWithClass(dataCoding: number): number {
  if (dataCoding >= 0xf0) return dataCoding & 0x04;
  // Messages that announce others: those of the last group are in UCS-2.
  if (dataCoding >= 0xc0) return dataCoding >= 0xe0 ? 8 : 0;
  return dataCoding & 0x0c;
}

function joinedByHeader(header: Buffer): InboundPart['joined'] {
  for (let at = 0; at + 2 <= header.length; at += 2 + (header[at + 1] as number)) {
    const [element, length] = [header[at], header[at + 1]];
    const value = header.subarray(at + 2, at + 2 + (length ?? 0));
    if (element === 0x00 && value.length === 3) return joinedOf(value.readUInt8(0), value[1], value[2]);
    if (element === 0x08 && value.length === 4) return joinedOf(value.readUInt16BE(0), value[2], value[3]);
  }
  return undefined;
}

const joinedByTlvs = (pdu: Pdu): InboundPart['joined'] =>
  pdu.sar_msg_ref_num === undefined
    ? undefined
    : joinedOf(pdu.sar_msg_ref_num, pdu.sar_total_segments, pdu.sar_segment_seqnum);

function joinedOf(reference: number, total = 0, number = 0): InboundPart['joined'] {
  return total > 1 && number >= 1 && number <= total ? { reference, total, number } : undefined;
}
