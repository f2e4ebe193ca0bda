import { formatDay, formatTime, formatUtc } from '../format';

/** A moment in the person's own zone; the pointer shows it in UTC, and screen readers get both from the element. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatUtc(at)}>
      {formatTime(at)}
    </time>
  );
}

/** The day alone, where rows are many and narrow; the pointer shows the moment in UTC. */
export function Day({ at }: { at: string }) {
  return (
    <time className="whole" dateTime={at} title={formatUtc(at)}>
      {formatDay(at)}
    </time>
  );
}
