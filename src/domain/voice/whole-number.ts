/** A number of a step, which is a text while a placeholder is in it. */
export function wholeNumber(value: number | string | undefined, otherwise: number, max: number): number {
  const number = typeof value === 'number' ? value : Number(value);
  return Number.isInteger(number) && number >= 0 ? Math.min(number, max) : otherwise;
}
