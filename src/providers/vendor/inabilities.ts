import type { HandOverResult } from '../provider';
import type { Inability } from './vendor';

/** A text that the vendor refuses whatever its placeholders become. */
export const longerThan = (charsMax: number, text: string): Inability[] =>
  text.length > charsMax
    ? [{ about: 'template', message: `An SMS has at most ${charsMax} characters there` }]
    : [];

/** Whether a sender of SMS is a name, and no number or short code. */
export const isName = (from: string): boolean => /[^\d+]/.test(from);

/** A message that the vendor would refuse for good, to any recipient: accounts or routes have changed since it was accepted. */
export const impossible = ([first]: readonly Inability[]): HandOverResult | undefined =>
  first && { kind: 'rejected', code: 'message_not_possible', message: first.message };
