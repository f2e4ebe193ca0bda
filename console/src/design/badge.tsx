import type { ReactNode } from 'react';

/** The colour repeats what the text says, and says nothing of its own. */
export type Tone = 'ok' | 'warn' | 'bad' | 'busy' | 'idle';

export function Badge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}
