import { Field, Select } from '../design/field';
import { fill } from '../format';
import { TEXTS } from '../texts';
import type { Draft } from './draft';
import { CALL_OUTCOMES, type CallOutcome, type Retries } from './retries';

const texts = TEXTS.newCampaign.retries;

interface PartProps {
  draft: Draft;
  change(changed: Partial<Draft>): void;
}

/** When a message or a call is tried again. Most campaigns leave it as it is, so that it is closed at first. */
export function RetryPart({ draft, change }: PartProps) {
  const { retries, channels } = draft;
  const set = (changed: Partial<Retries>) => change({ retries: { ...retries, ...changed } });
  return (
    <details className="stack tight">
      <summary>{texts.title}</summary>
      <p className="muted">{texts.lead}</p>
      <div className="columns">
        <Count label={texts.attempts} value={retries.attempts} onChange={(attempts) => set({ attempts })} />
        <Count
          label={texts.first}
          value={retries.firstMinutes}
          onChange={(firstMinutes) => set({ firstMinutes })}
        />
        <Count
          label={texts.factor}
          hint={texts.factorHint}
          value={retries.factor}
          onChange={(factor) => set({ factor })}
        />
        <Count
          label={texts.longest}
          value={retries.longestMinutes}
          onChange={(longestMinutes) => set({ longestMinutes })}
        />
        <Count
          label={texts.expire}
          hint={texts.expireHint}
          value={retries.expireMinutes}
          onChange={(expireMinutes) => set({ expireMinutes })}
        />
        <Select
          label={texts.onUnknown}
          hint={texts.onUnknownHint}
          value={retries.onUnknown}
          onChange={({ target }) => set({ onUnknown: target.value as Retries['onUnknown'] })}
        >
          <option value="">{texts.usual}</option>
          <option value="hold">{texts.hold}</option>
          <option value="resend">{texts.resend}</option>
        </Select>
      </div>
      {channels.includes('voice') && <Calls retries={retries} set={set} />}
    </details>
  );
}

function Calls({ retries, set }: { retries: Retries; set(changed: Partial<Retries>): void }) {
  const setOutcome = (outcome: CallOutcome, changed: Partial<Retries['outcomes'][CallOutcome]>) =>
    set({ outcomes: { ...retries.outcomes, [outcome]: { ...retries.outcomes[outcome], ...changed } } });
  return (
    <div className="stack tight">
      <h3>{texts.callsTitle}</h3>
      <p className="muted">{texts.callsLead}</p>
      <div className="columns">
        <Count label={texts.calls} value={retries.calls} onChange={(calls) => set({ calls })} />
        <Count
          label={texts.ring}
          value={retries.ringSeconds}
          onChange={(ringSeconds) => set({ ringSeconds })}
        />
        <Select
          label={texts.machine}
          value={retries.machine}
          onChange={({ target }) => set({ machine: target.value as Retries['machine'] })}
        >
          <option value="">{texts.usual}</option>
          {(['speak', 'hangup', 'leave_message'] as const).map((one) => (
            <option key={one} value={one}>
              {texts.machines[one]}
            </option>
          ))}
        </Select>
      </div>
      {CALL_OUTCOMES.map((outcome) => (
        <div key={outcome} className="columns">
          <Count
            label={fill(texts.callsOf, { outcome: texts.outcomes[outcome] })}
            value={retries.outcomes[outcome].calls}
            onChange={(calls) => setOutcome(outcome, { calls })}
          />
          <Field
            label={fill(texts.waitsOf, { outcome: texts.outcomes[outcome] })}
            hint={texts.waitsHint}
            inputMode="decimal"
            value={retries.outcomes[outcome].minutes}
            onChange={({ target }) => setOutcome(outcome, { minutes: target.value })}
          />
        </div>
      ))}
    </div>
  );
}

interface CountProps {
  label: string;
  hint?: string;
  value: string;
  onChange(value: string): void;
}

function Count({ onChange, ...rest }: CountProps) {
  return (
    <Field {...rest} type="number" min="0" step="any" onChange={({ target }) => onChange(target.value)} />
  );
}
