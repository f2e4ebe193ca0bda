import { Button } from '../design/button';
import { Choice, Field } from '../design/field';
import { fill } from '../format';
import { TEXTS } from '../texts';
import type { Cap } from './policy-draft';

const { policy: texts } = TEXTS;
const CHANNELS = ['email', 'sms', 'voice'] as const;

interface CapsPartProps {
  caps: readonly Cap[];
  wrong: string | undefined;
  onChange(caps: readonly Cap[]): void;
}

/** How often one person is written to. */
export function CapsPart({ caps, wrong, onChange }: CapsPartProps) {
  const change = (at: number, cap: Partial<Cap>) =>
    onChange(caps.map((one, i) => (i === at ? { ...one, ...cap } : one)));
  return (
    <section className="card stack" aria-label={texts.caps}>
      <h2>{texts.caps}</h2>
      <p className="muted">{texts.capsText}</p>
      {caps.map(({ channels, max, days }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a cap has nothing else that stays while it is typed
        <fieldset key={at} className="fieldset stack tight">
          <legend>{fill(texts.cap, { n: at + 1 })}</legend>
          <div className="columns">
            <Field
              label={texts.max}
              type="number"
              min={1}
              required
              value={max}
              onChange={({ target }) => change(at, { max: target.value })}
            />
            <Field
              label={texts.inDays}
              type="number"
              min={1}
              required
              value={days}
              onChange={({ target }) => change(at, { days: target.value })}
            />
          </div>
          <div className="row">
            {CHANNELS.map((channel) => (
              <Choice
                key={channel}
                label={TEXTS.channels[channel]}
                checked={channels.includes(channel)}
                onChange={({ target }) =>
                  change(at, {
                    channels: target.checked
                      ? [...channels, channel]
                      : channels.filter((one) => one !== channel),
                  })
                }
              />
            ))}
            <Button small kind="quiet" onClick={() => onChange(caps.filter((_, i) => i !== at))}>
              {fill(texts.removeCap, { n: at + 1 })}
            </Button>
          </div>
        </fieldset>
      ))}
      {wrong && <p className="tone-bad small">{wrong}</p>}
      <div>
        <Button small onClick={() => onChange([...caps, { channels: CHANNELS, max: '3', days: '7' }])}>
          {texts.addCap}
        </Button>
      </div>
    </section>
  );
}
