import { formatTime, formatUtc } from '../format';

/** A moment in the person's own zone; the pointer shows it in UTC, and screen readers get both from the element. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatUtc(at)}>
      {formatTime(at)}
    </time>
  );
}
