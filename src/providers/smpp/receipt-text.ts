import type { ReceiptType } from '../../domain/message';
import { NO_OPTED_OUT_CODES, OPTED_OUT, type OptedOutCodes } from '../../domain/opted-out-codes';
import type { Receipt } from '../provider';
import { addressFrom } from './address';
import type { Pdu } from './library';

/** What a receipt says (SMPP 3.4, 5.3.2 and appendix B), before it is known whose it is. */
export interface SmppReceipt {
  /** As the centre wrote it. */
  partId: string;
  /** Nothing ends with a receipt that has none. */
  type: ReceiptType | undefined;
  code: string | undefined;
  /** The centre's own, where `code` does not name it. */
  carrierCode: string | undefined;
  /** The centre's own date, which does not say in which zone it is. */
  doneDate: string | undefined;
  /** The recipient of the message, its sender, and the reference that it was submitted with. */
  about: Receipt['about'];
}

/** Kinds by esm_class, bits 2 to 5: 0x04 a receipt, 0x20 a notice on the way. */
const KIND = 0x3c;
const RECEIPT = 0x04;
const INTERMEDIATE = 0x20;

/**
 * The states that end a message, as TLV and as word; of words only so much is compared, since centres cut
 * and lengthen them. `UNKNOWN` is the end of a message of which the centre knows nothing: nor do we.
 */
const ENDS: { state: number; word: string; type: ReceiptType }[] = [
  { state: 2, word: 'DELIV', type: 'delivered' },
  { state: 3, word: 'EXPIR', type: 'expired' },
  { state: 4, word: 'DELETE', type: 'failed' },
  { state: 5, word: 'UNDEL', type: 'undelivered' },
  { state: 8, word: 'REJEC', type: 'rejected' },
];
const WORDS: Record<number, string> = { 3: 'expired', 4: 'deleted', 5: 'undeliv', 8: 'rejectd' };

export const isReceipt = (pdu: Pdu): boolean =>
  [RECEIPT, INTERMEDIATE].includes((pdu.esm_class ?? 0) & KIND) || pdu.receipted_message_id !== undefined;

/** TLVs where there are any, else the text, which no two centres write alike. */
export function readReceipt(pdu: Pdu, optedOut: OptedOutCodes = NO_OPTED_OUT_CODES): SmppReceipt | undefined {
  const text =
    (pdu.short_message?.length ? pdu.short_message : pdu.message_payload)?.toString('latin1') ?? '';
  const partId = pdu.receipted_message_id || field(text, 'id');
  if (!partId) return undefined;
  const isNotice = ((pdu.esm_class ?? 0) & KIND) === INTERMEDIATE;
  const end = isNotice ? undefined : (endOfState(pdu.message_state) ?? endOfWord(text, pdu.message_state));
  const error = errorOf(pdu, text);
  const code = end && end.type !== 'delivered' ? codeOf(end.state, error) : undefined;
  const hasOptedOut = code !== undefined && optedOut.hasError(error);
  return {
    partId,
    type: end?.type,
    code: hasOptedOut ? OPTED_OUT : code,
    carrierCode: hasOptedOut ? code : undefined,
    doneDate: field(text, 'done date'),
    about: aboutOf(pdu),
  };
}

/** A receipt goes the way back: it comes from the recipient. */
function aboutOf(pdu: Pdu): Receipt['about'] {
  if (!pdu.source_addr || !pdu.destination_addr) return undefined;
  return {
    to: addressFrom(pdu.source_addr, pdu.source_addr_ton),
    from: pdu.destination_addr,
    // Some centres send 0 when there is no reference.
    reference: pdu.user_message_reference || undefined,
  };
}

const endOfState = (state: number | undefined) => ENDS.find((end) => end.state === state);

/** A state in a TLV counts more than one in the text. */
function endOfWord(text: string, state: number | undefined) {
  if (state !== undefined && state !== 0) return undefined;
  const word = field(text, 'stat')?.toUpperCase();
  return ENDS.find((end) => word?.startsWith(end.word));
}

function codeOf(state: number, error: string | undefined): string {
  return `smpp_${WORDS[state]}${error && !/^0*$/.test(error) ? `_${error}` : ''}`;
}

/** Three octets: the network, and its code. */
function errorOf(pdu: Pdu, text: string): string | undefined {
  const tlv = pdu.network_error_code;
  return tlv?.length === 3 ? String(tlv.readUInt16BE(1)) : field(text, 'err')?.slice(0, 20);
}

const FIELDS = ['id', 'sub', 'dlvrd', 'submit date', 'done date', 'stat', 'err', 'text'] as const;
/** The name, a colon or an equals sign, and what follows up to a blank. Names come in any case and order. */
const PATTERNS = Object.fromEntries(
  FIELDS.map((name) => [
    name,
    new RegExp(`(?:^|[\\s,;])${name.replace(' ', '[ _]?')}\\s*[:=]\\s*([^\\s,;]+)`, 'i'),
  ]),
) as Record<(typeof FIELDS)[number], RegExp>;

function field(text: string, name: (typeof FIELDS)[number]): string | undefined {
  // The text after "text:" is the message's own, and may contain anything.
  const head = text.replace(/(^|[\s,;])text\s*[:=][\s\S]*$/i, '');
  return PATTERNS[name].exec(head)?.[1];
}
