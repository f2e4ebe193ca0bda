import { findingAt } from '../api/findings';
import { Button } from '../design/button';
import { Choice, Field, Select } from '../design/field';
import { fill } from '../format';
import { TEXTS } from '../texts';
import type { Draft, Stage } from './draft';
import { RetryPart } from './retry-part';

const texts = TEXTS.newCampaign.timing;

interface PartProps {
  draft: Draft;
  change(changed: Partial<Draft>): void;
}

export function WhenPart({ draft, change, error }: PartProps & { error: unknown }) {
  return (
    <fieldset className="group">
      <legend>
        <h2>{texts.title}</h2>
      </legend>
      <div className="columns">
        <Select
          label={texts.when}
          value={draft.when}
          onChange={({ target }) => change({ when: target.value as Draft['when'] })}
        >
          <option value="now">{texts.now}</option>
          <option value="later">{texts.later}</option>
          <option value="recurring">{texts.recurring}</option>
        </Select>
        {draft.when === 'later' && (
          <Field
            label={texts.startAt}
            hint={fill(texts.inZone, { zone: draft.timezone })}
            type="datetime-local"
            wrong={findingAt(error, 'schedule.startAt')}
            value={draft.startAt}
            onChange={({ target }) => change({ startAt: target.value })}
          />
        )}
        {draft.when === 'recurring' && (
          <Field
            label={texts.cron}
            hint={`${texts.cronHint}. ${fill(texts.inZone, { zone: draft.timezone })}`}
            wrong={findingAt(error, 'schedule.cron')}
            value={draft.cron}
            spellCheck={false}
            onChange={({ target }) => change({ cron: target.value })}
          />
        )}
      </div>
      {draft.when !== 'now' && (
        <Choice
          label={texts.recipientLocal}
          hint={texts.recipientLocalHint}
          checked={draft.recipientLocal}
          onChange={({ target }) => change({ recipientLocal: target.checked })}
        />
      )}
      <Pace draft={draft} change={change} />
      <Stages draft={draft} change={change} />
      <RetryPart draft={draft} change={change} />
    </fieldset>
  );
}

function Pace({ draft, change }: PartProps) {
  return (
    <div className="columns">
      <Field
        label={texts.rate}
        hint={texts.rateHint}
        type="number"
        min="0"
        step="any"
        value={draft.rate}
        onChange={({ target }) => change({ rate: target.value })}
      />
      <Field
        label={texts.quietFrom}
        hint={texts.quietHint}
        type="time"
        value={draft.quietFrom}
        onChange={({ target }) => change({ quietFrom: target.value })}
      />
      <Field
        label={texts.quietTo}
        type="time"
        value={draft.quietTo}
        onChange={({ target }) => change({ quietTo: target.value })}
      />
    </div>
  );
}

const NEW_STAGE: Stage = { size: '10', unit: 'percent', wait: '' };

function Stages({ draft, change }: PartProps) {
  const { stages } = draft;
  const set = (at: number, changed: Partial<Stage>) =>
    change({ stages: stages.map((one, index) => (index === at ? { ...one, ...changed } : one)) });
  return (
    <div className="stack tight">
      <h3>{texts.stages}</h3>
      <p className="muted">{texts.stagesText}</p>
      {stages.map((stage, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: stages are known by their place
        <div key={at} className="columns card">
          <Field
            label={fill(texts.size, { n: at + 1 })}
            type="number"
            min="1"
            value={stage.size}
            onChange={({ target }) => set(at, { size: target.value })}
          />
          <Select
            label={texts.unit}
            value={stage.unit}
            onChange={({ target }) => set(at, { unit: target.value as Stage['unit'] })}
          >
            <option value="percent">{texts.percent}</option>
            <option value="recipients">{texts.contacts}</option>
          </Select>
          <Field
            label={texts.wait}
            hint={texts.waitHint}
            type="number"
            min="0"
            value={stage.wait}
            onChange={({ target }) => set(at, { wait: target.value })}
          />
          <div>
            <Button
              small
              kind="quiet"
              onClick={() => change({ stages: stages.filter((_one, index) => index !== at) })}
            >
              {texts.remove}
            </Button>
          </div>
        </div>
      ))}
      {stages.length > 0 && (
        <Field
          label={texts.gate}
          hint={texts.gateHint}
          type="number"
          min="0"
          max="100"
          step="any"
          value={draft.gatePercent}
          onChange={({ target }) => change({ gatePercent: target.value })}
        />
      )}
      <div>
        <Button small onClick={() => change({ stages: [...stages, NEW_STAGE] })}>
          {texts.add}
        </Button>
      </div>
    </div>
  );
}
