import { LIMITS } from '../../domain/limits';
import type { MessageIdForm } from './settings';

/** A part that the centre took, as this process remembers it. */
export interface SentPart {
  partId: string;
  messageId: string;
  /** Number of parts of the message. */
  parts: number;
  /** The message's recipient. */
  to: string;
}

/**
 * Whose part a receipt is about. Centres name a part in the answer to submit_sm and again in its receipt,
 * where many write in decimal what was hexadecimal before, or the other way round, with other zeros in front
 * and other letters. Taken for the wrong one of the two, `20` names another message that there is as well.
 * So a setting can say it; with `auto` it is derived from the ids themselves: digits alone say nothing, and one
 * letter says that all are hexadecimal.
 */
export class PartIds {
  private readonly sent = new Map<string, SentPart>();
  private answered = 0;
  private answersAreHex = false;
  private receiptsAreHex = false;
  private receiptsOfDigits = 0;

  constructor(private readonly setting: MessageIdForm) {}

  add(part: SentPart): void {
    this.answered += 1;
    if (isHexForSure(part.partId)) this.answersAreHex = true;
    for (const key of keysOf(part.partId)) {
      this.sent.delete(key);
      this.sent.set(key, part);
    }
    for (const key of this.sent.keys()) {
      if (this.sent.size <= LIMITS.smppPartIds * KEYS) break;
      this.sent.delete(key);
    }
  }

  find(told: string): SentPart | undefined {
    if (isHexForSure(told)) this.receiptsAreHex = true;
    else if (DIGITS.test(told)) this.receiptsOfDigits += 1;
    for (const form of this.forms()) {
      const key = KEY[form](told);
      const part = key === undefined ? undefined : this.sent.get(key);
      if (part) return part;
    }
    return undefined;
  }

  /** What the part may have been called in the answer to submit_sm, the likeliest first. */
  candidates(told: string): string[] {
    // A process that has just started has seen no answer yet, and tries every form in which others may have stored ids.
    const forms = this.answered === 0 && this.setting === 'auto' ? FORMS : this.forms();
    return [...new Set(forms.flatMap((form) => WRITINGS[form](told)))];
  }

  private forms(): readonly Form[] {
    if (this.setting === 'decimal') return ['decimal', 'same'];
    if (this.setting === 'hex') return ['hex', 'same'];
    if (this.answersAreHex === this.receiptsAreHex) return ['same'];
    if (this.receiptsAreHex) return ['hex', 'same'];
    return this.receiptsOfDigits > DIGITS_BY_CHANCE ? ['decimal', 'same'] : ['same', 'decimal'];
  }
}

/** What a receipt's id is: as it was; decimal, and it was hexadecimal; hexadecimal, and it was decimal. */
type Form = 'same' | 'decimal' | 'hex';
const FORMS: readonly Form[] = ['same', 'decimal', 'hex'];
const KEYS = 3;
/**
 * Ids of four hexadecimal digits or more: the chance that so many of them hold no letter is below one in a
 * million million.
 */
const DIGITS_BY_CHANCE = 15;
/** Longer ones are no numbers that a carrier counts by, and are always written the same. */
const DIGITS = /^\d{1,20}$/;
const HEX = /^[\da-f]{1,16}$/i;

const isHexForSure = (id: string): boolean => HEX.test(id) && /[a-f]/i.test(id);

/** An id is remembered by itself, and by the number that it is if it is hexadecimal, and if it is decimal. */
function keysOf(partId: string): string[] {
  const keys = [
    KEY.same(partId),
    numberKey('was-hex', hexNumber(partId)),
    numberKey('was-decimal', number(partId)),
  ];
  return keys.filter((key) => key !== undefined);
}

const KEY: Record<Form, (told: string) => string | undefined> = {
  same: (told) => `same ${told}`,
  decimal: (told) => numberKey('was-hex', number(told)),
  hex: (told) => numberKey('was-decimal', hexNumber(told)),
};

const WRITINGS: Record<Form, (told: string) => string[]> = {
  same: (told) => [told],
  decimal(told) {
    const digits = number(told)?.toString(16);
    if (digits === undefined) return [];
    const padded = digits.padStart(8, '0');
    return [digits, digits.toUpperCase(), padded, padded.toUpperCase()];
  },
  hex(told) {
    const digits = hexNumber(told)?.toString();
    return digits === undefined ? [] : [digits, digits.padStart(10, '0')];
  },
};

const numberKey = (kind: string, value: bigint | undefined) =>
  value === undefined ? undefined : `${kind} ${value}`;
const number = (text: string) => (DIGITS.test(text) ? BigInt(text) : undefined);
const hexNumber = (text: string) => (HEX.test(text) ? BigInt(`0x${text}`) : undefined);
