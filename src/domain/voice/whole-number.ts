/** A number of a step; it is a text while it contains a placeholder. */
export function wholeNumber(value: number | string | undefined, otherwise: number, max: number): number {
  const number = typeof value === 'number' ? value : Number(value);
  return Number.isInteger(number) && number >= 0 ? Math.min(number, max) : otherwise;
}
