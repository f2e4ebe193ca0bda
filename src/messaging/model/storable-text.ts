/** How much of a provider's own text is kept. */
const PROVIDER_TEXT_CHARS = 200;

/** A provider's text as PostgreSQL takes it; one strange answer must not keep a batch from being recorded. */
export function storable(text: string): string {
  return text.slice(0, PROVIDER_TEXT_CHARS).replace(UNSTORABLE, '\ufffd');
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: PostgreSQL stores every character but this one.
const UNSTORABLE = /\u0000|\p{Surrogate}/gu;
