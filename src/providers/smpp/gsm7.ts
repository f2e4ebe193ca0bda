/** The default alphabet of 3GPP TS 23.038 by code: one octet for a septet, as SMPP carries it. */
const ESCAPE = 0x1b;
/** The escape's own place holds a character that no text has. */
const BASIC = [
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\u001bÆæßÉ',
  ' !"#¤%&\'()*+,-./0123456789:;<=>?',
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§',
  '¿abcdefghijklmnopqrstuvwxyzäöñüà',
].join('');
const EXTENSION: Record<string, number> = {
  '\f': 0x0a,
  '^': 0x14,
  '{': 0x28,
  '}': 0x29,
  '\\': 0x2f,
  '[': 0x3c,
  '~': 0x3d,
  ']': 0x3e,
  '|': 0x40,
  '€': 0x65,
};

const OCTETS = new Map<string, readonly number[]>([
  ...[...BASIC].flatMap((character, code): [string, number[]][] =>
    code === ESCAPE ? [] : [[character, [code]]],
  ),
  ...Object.entries(EXTENSION).map(([character, code]): [string, number[]] => [character, [ESCAPE, code]]),
]);
const EXTENDED = new Map(Object.entries(EXTENSION).map(([character, code]) => [code, character]));

/** The octets of each character, or `undefined` when one is not in the alphabet. */
export function gsm7Units(text: string): (readonly number[])[] | undefined {
  const units: (readonly number[])[] = [];
  for (let i = 0; i < text.length; i++) {
    const octets = OCTETS.get(text.charAt(i));
    if (!octets) return undefined;
    units.push(octets);
  }
  return units;
}

/** What no phone would show is shown as a space, and an unknown extension as the character without it. */
export function decodeGsm7(octets: Buffer): string {
  let text = '';
  for (let i = 0; i < octets.length; i++) {
    const code = octets[i] as number;
    if (code !== ESCAPE) text += BASIC[code] ?? ' ';
    else if (i + 1 < octets.length) {
      const next = octets[++i] as number;
      text += EXTENDED.get(next) ?? BASIC[next] ?? ' ';
    }
  }
  return text;
}
