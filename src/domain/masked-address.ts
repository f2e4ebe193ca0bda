/**
 * Addresses as a viewer sees them (api.md 17): `a***@e***` and `+1•••43`. Every email address and phone number
 * within a text is masked, because addresses also stand in explanations, params and external ids.
 */
export function maskAddresses(text: string): string {
  const emails = text.includes('@') ? text.replace(EMAIL, maskEmail) : text;
  return emails.includes('+') ? emails.replace(PHONE, maskPhone) : emails;
}

/** Wider than what is taken as an address: better too much is masked than too little. */
const EMAIL = /([^\s@"'<>(),:;[\]\\])[^\s@"'<>(),:;[\]\\]*@([^\s@"'<>(),:;[\]\\])[^\s@"'<>(),:;[\]\\]*/gu;
/** E.164, as all phone numbers are stored. */
const PHONE = /\+([1-9])\d{4,}(\d\d)(?!\d)/g;

const maskEmail = (_whole: string, local: string, domain: string) => `${local}***@${domain}***`;
const maskPhone = (_whole: string, first: string, last: string) => `+${first}•••${last}`;

/**
 * Members that name senders, or the caller. They are not about recipients, and a reader of a campaign has to know who it
 * is from.
 */
const SHOWN: ReadonlySet<string> = new Set([
  'user',
  'from',
  'fromEmail',
  'replyTo',
  'shortCode',
  'callerId',
  'sender',
  'allowedSenders',
]);

/** A copy of a JSON value with masked texts. */
export function maskedValue(value: unknown): unknown {
  if (typeof value === 'string') return maskAddresses(value);
  if (Array.isArray(value)) return value.map(maskedValue);
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      maskAddresses(key),
      SHOWN.has(key) ? member : maskedValue(member),
    ]),
  );
}
