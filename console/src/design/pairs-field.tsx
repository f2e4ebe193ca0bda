import { useId } from 'react';
import { fill } from '../format';
import { TEXTS } from '../texts';
import { Button } from './button';

export interface Pair {
  name: string;
  value: string;
}

interface PairsFieldProps {
  label: string;
  hint?: string;
  pairs: readonly Pair[];
  wrong?: string | undefined;
  onChange(pairs: readonly Pair[]): void;
}

/** Names with values, such as params: a row for each, with a button for one more. */
export function PairsField({ label, hint, pairs, wrong, onChange }: PairsFieldProps) {
  const id = useId();
  const { pairs: texts } = TEXTS;
  const change = (at: number, pair: Partial<Pair>) =>
    onChange(pairs.map((one, i) => (i === at ? { ...one, ...pair } : one)));
  return (
    <fieldset className="fieldset stack tight" aria-describedby={hint ? `${id}-hint` : undefined}>
      <legend>{label}</legend>
      {hint && (
        <p className="muted small" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {pairs.map(({ name, value }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row has nothing else that stays while it is typed
        <div key={at} className="pair">
          <input
            className="input mono"
            aria-label={fill(texts.name, { n: at + 1 })}
            placeholder={texts.namePlaceholder}
            value={name}
            onChange={({ target }) => change(at, { name: target.value })}
          />
          <input
            className="input"
            aria-label={fill(texts.value, { name: name || String(at + 1) })}
            value={value}
            onChange={({ target }) => change(at, { value: target.value })}
          />
          <Button
            small
            kind="quiet"
            aria-label={fill(texts.remove, { name: name || String(at + 1) })}
            onClick={() => onChange(pairs.filter((_, i) => i !== at))}
          >
            {TEXTS.common.remove}
          </Button>
        </div>
      ))}
      {wrong && <span className="wrong">{wrong}</span>}
      <div>
        <Button small onClick={() => onChange([...pairs, { name: '', value: '' }])}>
          {texts.add}
        </Button>
      </div>
    </fieldset>
  );
}
