/** A person who is to be erased: their addresses as records have them, and words that name them, in lower case. */
export interface Erased {
  workspaceId: string;
  addresses: readonly string[];
  words: readonly string[];
}

/** Members that hold what a person said, wrote or typed, whatever it is. */
const SPOKEN: readonly string[] = ['said', 'text', 'digits', 'recording', 'documents'];

/** An id, a code or another word that a program chose. */
const PLAIN = /^[A-Za-z0-9_.:-]{1,64}$/;

/**
 * A copy of a message's data without anything about the person. Numbers and plain words stay, because states,
 * codes and durations are counted. Any other text becomes null: a carrier's words may repeat the address in a
 * form of its own.
 */
export function withoutPerson(value: unknown, person: Pick<Erased, 'addresses' | 'words'>): unknown {
  if (typeof value === 'string') return isHarmless(value, person) ? value : null;
  if (Array.isArray(value)) return value.map((one) => withoutPerson(one, person));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      SPOKEN.includes(name) ? null : withoutPerson(one, person),
    ]),
  );
}

/** As carriers write phone numbers. */
const DIGITS = /^\d{7,15}$/;

function isHarmless(text: string, { addresses, words }: Pick<Erased, 'addresses' | 'words'>): boolean {
  const lower = text.toLowerCase();
  if (!PLAIN.test(text) || DIGITS.test(text) || words.includes(lower)) return false;
  return !addresses.some((one) => lower.includes(one.toLowerCase()));
}
