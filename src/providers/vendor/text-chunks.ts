/** Parts of a text that a vendor says at once. At spaces, so that no word is cut unless it is longer than a part. */
export function chunksOf(text: string, charsMax: number): string[] {
  const chunks: string[] = [];
  let rest = text;
  while (rest.length > charsMax) {
    const at = rest.lastIndexOf(' ', charsMax);
    // A surrogate pair is not cut in two.
    const whole = /[\uD800-\uDBFF]/.test(rest.charAt(charsMax - 1)) ? charsMax - 1 : charsMax;
    const end = at > 0 ? at : whole;
    chunks.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return rest === '' ? chunks : [...chunks, rest];
}
