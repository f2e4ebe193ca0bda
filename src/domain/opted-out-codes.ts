/**
 * What an operator says of a subscriber who has opted out is its own: SMPP has no status for it, and 0x400 and
 * up, like the `err` of a receipt, mean something else at each. Whoever knows his operator's names them, and
 * from then on they are the code `opted_out`, which blocks (domain/delivery-codes.ts).
 *
 * `0x…` is a status in the answer to a submit_sm; anything else is what a receipt says behind `err:`, or in
 * its TLV, whatever zeros are in front.
 */
export interface OptedOutCodes {
  hasStatus(status: number): boolean;
  hasError(error: string | undefined): boolean;
}

export const OPTED_OUT = 'opted_out';
export const NO_OPTED_OUT_CODES: OptedOutCodes = { hasStatus: () => false, hasError: () => false };

const STATUS = /^0x[\da-f]{1,8}$/i;
const ERROR = /^(?!0x)[\da-z]{1,20}$/i;

/** Of several with commas between them; what is wrong with them, if they are not such codes. */
export function parseOptedOutCodes(text: string): OptedOutCodes | string {
  const codes = text.split(',').map((one) => one.trim());
  if (!codes.every((code) => STATUS.test(code) || ERROR.test(code))) {
    return 'this must be codes such as 0x455,451: statuses begin with 0x, others are the err of receipts';
  }
  const statuses = new Set(codes.filter((code) => STATUS.test(code)).map(Number));
  const errors = new Set(codes.filter((code) => !STATUS.test(code)).map(bare));
  // No error at all would have everybody who was delivered to opt out.
  if (statuses.has(0) || errors.has('')) return 'zero means that all is well, and is no such code';
  return {
    hasStatus: (status) => statuses.has(status),
    hasError: (error) => error !== undefined && errors.has(bare(error)),
  };
}

const bare = (error: string): string => error.toLowerCase().replace(/^0+/, '');
