/**
 * Each operator has its own code for a subscriber who has opted out. SMPP has no status for it, and 0x400 and
 * above, like the `err` of a receipt, differ between operators. The operator of an installation names these
 * codes. From then on they mean `opted_out`, which suppresses the address (domain/delivery-codes.ts).
 *
 * `0x…` is a status in the answer to a submit_sm. Anything else is the value behind `err:` in a receipt, or in
 * its TLV, with or without leading zeros.
 */
export interface OptedOutCodes {
  hasStatus(status: number): boolean;
  hasError(error: string | undefined): boolean;
}

export const OPTED_OUT = 'opted_out';
export const NO_OPTED_OUT_CODES: OptedOutCodes = { hasStatus: () => false, hasError: () => false };

const STATUS = /^0x[\da-f]{1,8}$/i;
const ERROR = /^(?!0x)[\da-z]{1,20}$/i;

/**
 * Parses several codes separated by commas. Returns what is wrong with them as a sentence if they are not such
 * codes.
 */
export function parseOptedOutCodes(text: string): OptedOutCodes | string {
  const codes = text.split(',').map((one) => one.trim());
  if (!codes.every((code) => STATUS.test(code) || ERROR.test(code))) {
    return 'this must be codes such as 0x455,451: statuses begin with 0x, others are the err of receipts';
  }
  const statuses = new Set(codes.filter((code) => STATUS.test(code)).map(Number));
  const errors = new Set(codes.filter((code) => !STATUS.test(code)).map(bare));
  // The code for "no error" would opt out every recipient whose message was delivered.
  if (statuses.has(0) || errors.has('')) return 'zero means that all is well, and is no such code';
  return {
    hasStatus: (status) => statuses.has(status),
    hasError: (error) => error !== undefined && errors.has(bare(error)),
  };
}

const bare = (error: string): string => error.toLowerCase().replace(/^0+/, '');
