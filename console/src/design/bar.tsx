import type { Tone } from './badge';

export interface Part {
  tone: Tone | 'open';
  count: number;
}

/** Parts of a whole, in a line. `label` says the same in words. */
export function Bar({ parts, label }: { parts: readonly Part[]; label: string }) {
  return (
    <div className="bar" role="img" aria-label={label}>
      {parts
        .filter(({ count }) => count > 0)
        .map(({ tone, count }) => (
          <span key={tone} className={tone} style={{ flexGrow: count, flexBasis: 0 }} />
        ))}
    </div>
  );
}
