import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import type {
  Policy,
  ReadPolicyData,
  ReadPolicyResponse,
  SetPolicyData,
  SetPolicyResponse,
} from '../api/types.gen';
import { Button } from '../design/button';
import { Conflict } from '../design/conflict';
import { Choice, Field, TextArea } from '../design/field';
import { useKeptDraft } from '../design/kept-draft';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { ErrorState } from '../design/states';
import { useToast } from '../design/toast';
import { fill, formatTime } from '../format';
import { Allowed, ReadableBelow } from '../shell/allowed';
import { TEXTS } from '../texts';
import { CapsPart } from './caps-part';
import { type Draft, draftOf, policyOf, textOf } from './policy-draft';

const { policy: texts } = TEXTS;

const readPolicy = async (signal?: AbortSignal): Promise<Policy> =>
  (await call<ReadPolicyData, ReadPolicyResponse>('GET', '/api/policy', signal ? { signal } : {})).data;

/** What the workspace asks of every campaign. */
export function PolicyPage() {
  const policy = useQuery({
    queryKey: ['policy'],
    queryFn: ({ signal }) => readPolicy(signal),
  });
  const { version, updatedAt } = policy.data ?? {};
  return (
    <Page
      title={TEXTS.nav.policy}
      lead={
        updatedAt ? fill(texts.changed, { at: formatTime(updatedAt), version: version ?? 0 }) : texts.lead
      }
    >
      <Loaded query={policy}>{(known) => <PolicyForm policy={known} />}</Loaded>
    </Page>
  );
}

function PolicyForm({ policy }: { policy: Policy }) {
  const stored = draftOf(policy);
  const kept = useKeptDraft('policy', policy.version, stored);
  const { draft } = kept;
  const set = (changed: Partial<Draft>) => kept.setDraft({ ...draft, ...changed });
  const save = useSave(policy, kept.saved);
  return (
    <form
      className="stack form"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(draft);
      }}
    >
      <ReadableBelow from="admin">
        <QuietHours draft={draft} set={set} error={save.error} />
        <CapsPart
          caps={draft.caps}
          wrong={findingAt(save.error, 'caps')}
          onChange={(caps) => set({ caps })}
        />
        <Senders draft={draft} set={set} error={save.error} />
        <OptOut draft={draft} set={set} error={save.error} />
        <Approval draft={draft} set={set} error={save.error} />
      </ReadableBelow>
      {kept.isBehind && (
        <Conflict
          text={fill(TEXTS.conflict.text, { version: policy.version })}
          before={textOf(kept.from)}
          after={textOf(stored)}
          onKeep={kept.keepMine}
          onTake={kept.discard}
        />
      )}
      {save.error && <ErrorState error={save.error} />}
      <Allowed from="admin" label={texts.save}>
        <div className="row">
          <Button kind="primary" type="submit" busy={save.isPending} unavailable={kept.isBehind}>
            {texts.save}
          </Button>
          <Button kind="quiet" onClick={kept.discard}>
            {texts.reset}
          </Button>
          <span className="muted small" role="status">
            {kept.isChanged ? TEXTS.templates.unsaved : ''}
          </span>
        </div>
      </Allowed>
    </form>
  );
}

function useSave(policy: Policy, onSaved: ReturnType<typeof useKeptDraft<Draft>>['saved']) {
  const queries = useQueryClient();
  const say = useToast();
  return useMutation({
    mutationFn: async (sent: Draft) => {
      // The API takes the last one that comes, so that the form looks first whether it knows the newest.
      const newest = await readPolicy();
      if (newest.version !== policy.version) return { isSaved: false, policy: newest };
      const { data } = await call<SetPolicyData, SetPolicyResponse>('PUT', '/api/policy', {
        body: policyOf(sent),
      });
      return { isSaved: true, policy: data };
    },
    onSuccess: ({ isSaved, policy: newest }, sent) => {
      if (isSaved) {
        onSaved(sent, { version: newest.version, content: draftOf(newest) });
        say(texts.saved);
      }
      queries.setQueryData(['policy'], newest);
    },
  });
}

interface PartProps {
  draft: Draft;
  set(changed: Partial<Draft>): void;
  error: unknown;
}

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

function QuietHours({ draft: { quiet }, set, error }: PartProps) {
  const change = (changed: Partial<Draft['quiet']>) => set({ quiet: { ...quiet, ...changed } });
  return (
    <section className="card stack" aria-label={texts.quiet}>
      <h2>{texts.quiet}</h2>
      <Choice
        label={texts.quietOn}
        hint={texts.quietText}
        checked={quiet.isOn}
        onChange={({ target }) => change({ isOn: target.checked })}
      />
      {quiet.isOn && (
        <>
          <div className="columns">
            <Field
              label={texts.from}
              type="time"
              required
              value={quiet.from}
              wrong={findingAt(error, 'quietHours.from')}
              onChange={({ target }) => change({ from: target.value })}
            />
            <Field
              label={texts.to}
              type="time"
              required
              value={quiet.to}
              wrong={findingAt(error, 'quietHours.to')}
              onChange={({ target }) => change({ to: target.value })}
            />
            <Field
              label={texts.timezone}
              hint={texts.timezoneHint}
              value={quiet.timezone}
              wrong={findingAt(error, 'quietHours.timezone')}
              onChange={({ target }) => change({ timezone: target.value })}
            />
          </div>
          <fieldset className="fieldset">
            <legend>{texts.days}</legend>
            <div className="row">
              {DAYS.map((day) => (
                <Choice
                  key={day}
                  label={texts.dayNames[day]}
                  checked={quiet.days.includes(day)}
                  onChange={({ target }) =>
                    change({
                      days: target.checked ? [...quiet.days, day] : quiet.days.filter((one) => one !== day),
                    })
                  }
                />
              ))}
            </div>
          </fieldset>
        </>
      )}
    </section>
  );
}

function Senders({ draft: { senders }, set, error }: PartProps) {
  return (
    <section className="card stack" aria-label={texts.senders}>
      <h2>{texts.senders}</h2>
      <p className="muted">{texts.sendersText}</p>
      {(['email', 'sms', 'voice'] as const).map((channel) => (
        <TextArea
          key={channel}
          label={TEXTS.channels[channel]}
          hint={texts.senderHints[channel]}
          rows={2}
          value={senders[channel]}
          wrong={findingAt(error, `allowedSenders.${channel}`)}
          onChange={({ target }) => set({ senders: { ...senders, [channel]: target.value } })}
        />
      ))}
    </section>
  );
}

function OptOut({ draft, set, error }: PartProps) {
  return (
    <section className="card stack" aria-label={texts.optOut}>
      <h2>{texts.optOut}</h2>
      <Field
        label={texts.optOutText}
        hint={texts.optOutHint}
        value={draft.optOutText}
        wrong={findingAt(error, 'smsOptOutText')}
        onChange={({ target }) => set({ optOutText: target.value })}
      />
      <Choice
        label={texts.onlyFirst}
        checked={draft.onlyFirst}
        onChange={({ target }) => set({ onlyFirst: target.checked })}
      />
    </section>
  );
}

function Approval({ draft: { approval }, set, error }: PartProps) {
  return (
    <section className="card stack" aria-label={texts.approval}>
      <h2>{texts.approval}</h2>
      <Choice
        label={texts.approvalOn}
        hint={texts.approvalText}
        checked={approval.isOn}
        onChange={({ target }) => set({ approval: { ...approval, isOn: target.checked } })}
      />
      {approval.isOn && (
        <Field
          label={texts.above}
          type="number"
          min={0}
          required
          value={approval.above}
          wrong={findingAt(error, 'approval.above')}
          onChange={({ target }) => set({ approval: { ...approval, above: target.value } })}
        />
      )}
    </section>
  );
}
