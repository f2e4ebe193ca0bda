import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { findingAt } from '../api/findings';
import { isProblem, isRefusal } from '../api/problem';
import type { DryRun } from '../api/types.gen';
import { Button } from '../design/button';
import { Field } from '../design/field';
import { KeptNote } from '../design/kept-note';
import { Page } from '../design/page';
import { ErrorState } from '../design/states';
import { fill, plural } from '../format';
import { Allowed } from '../shell/allowed';
import { TEXTS } from '../texts';
import { bodyOf, type Draft } from './draft';
import { ChangedMeanwhile, EditedMeanwhile, useUnchanged } from './edited-meanwhile';
import { MadeBefore } from './made-before';
import { create, dryRun } from './new-campaign-queries';
import { ReviewPart } from './review-part';
import { useDraft } from './use-draft';
import { WhatPart } from './what-part';
import { WhenPart } from './when-part';
import { WhoPart } from './who-part';
import './new-campaign.css';

const texts = TEXTS.newCampaign;

/** Who, what, when; then a dry run to check; then the start. What is typed survives a reload and a failed request. */
export function NewCampaignPage() {
  const { draft, isKept, change, setAsked, clear } = useDraft();
  const form = useRef<HTMLFormElement>(null);
  const { check, found, begin } = useCheck(draft);
  const make = useCreate(draft, setAsked, clear);
  const isMadeBefore = isProblem(make.error, 422, 'idempotency_key_reused');
  const isChecked = found !== undefined;
  const error = check.error ?? make.error;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isReadable(form.current)) begin();
  };
  return (
    <Page
      title={draft.editing ? fill(texts.editTitle, { name: draft.name }) : texts.title}
      lead={draft.editing ? texts.editLead : texts.lead}
      actions={
        <Button small kind="quiet" onClick={clear}>
          {draft.editing ? texts.stopEditing : texts.clear}
        </Button>
      }
    >
      <form ref={form} className="stack" onSubmit={submit} noValidate>
        <Field
          label={texts.name}
          hint={texts.nameHint}
          wrong={findingAt(error, 'name')}
          value={draft.name}
          maxLength={200}
          onChange={({ target }) => change({ name: target.value })}
        />
        {draft.editing && draft.editing.ownRecipients > 0 && (
          <p className="notice">{plural(draft.editing.ownRecipients, texts.ownRecipients)}</p>
        )}
        <WhoPart draft={draft} change={change} error={error} />
        <WhatPart draft={draft} change={change} error={error} />
        <WhenPart draft={draft} change={change} error={error} />
        <EditedMeanwhile draft={draft} change={change} clear={clear} />
        <KeptNote isKept={isKept} />
        {check.error && !isSeen(check.error) && <ErrorState error={check.error} />}
        <Allowed from="editor" label={texts.dryRun}>
          <div className="row">
            <Button kind={isChecked ? 'plain' : 'primary'} type="submit" busy={check.isPending}>
              {texts.dryRun}
            </Button>
            <span className="muted">{texts.dryRunMeans}</span>
          </div>
        </Allowed>
      </form>
      {found && (
        <ReviewPart
          found={found}
          when={draft.when}
          isFallback={draft.strategy === 'fallback' && draft.channels.length > 1}
          error={isSeen(make.error) || isMadeBefore ? null : make.error}
          isBusy={make.isPending}
          onStart={() => isReadable(form.current) && make.mutate({ start: true })}
          onDraft={() => isReadable(form.current) && make.mutate({ start: false })}
        />
      )}
      {isChecked && isMadeBefore && (
        <MadeBefore
          isBusy={make.isPending}
          onAnother={() => make.mutate({ start: make.variables?.start ?? false, another: true })}
        />
      )}
    </Page>
  );
}

/** What a dry run found of exactly this content: a change takes it away, so that what is started is what was checked. */
function useCheck(draft: Draft) {
  const [checked, setChecked] = useState<{ key: string; found: DryRun }>();
  const requireUnchanged = useUnchanged(draft);
  const check = useMutation({
    mutationFn: async (of: Draft) => {
      await requireUnchanged();
      return dryRun(bodyOf(of), of.country);
    },
    onSuccess: ({ data }, of) => setChecked({ key: of.key, found: data }),
  });
  const begin = () => {
    setChecked(undefined);
    check.mutate(draft);
  };
  return { check, found: checked?.key === draft.key ? checked.found : undefined, begin };
}

/**
 * A number or an hour that the browser cannot read is empty for scripts, so that the limit that was meant would be
 * left out. The browser itself says at the field what is wrong.
 */
function isReadable(form: HTMLFormElement | null): boolean {
  const fields = [...(form?.elements ?? [])].filter((one) => one instanceof HTMLInputElement);
  const wrong = fields.find(({ validity }) => validity.badInput);
  if (!wrong) return true;
  const folded = wrong.closest('details');
  if (folded) folded.open = true;
  return wrong.reportValidity();
}

/** What another person has done is shown in the form itself. */
const isSeen = (error: unknown): boolean => error instanceof ChangedMeanwhile;

interface Pressed {
  start: boolean;
  /** Besides the one that an earlier request may have made. */
  another?: boolean;
}

function useCreate(draft: Draft, setAsked: (asked: string | undefined) => void, clear: () => void) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const requireUnchanged = useUnchanged(draft);
  return useMutation({
    mutationFn: async ({ start, another = false }: Pressed) => {
      await requireUnchanged();
      // The keys differ, because a draft and a start of the same content are two different requests.
      const own = `${draft.key}-${start ? 'start' : 'draft'}`;
      // An answer that was lost leaves its key in force for other content too, so that the server refuses a second
      // campaign if it has made the first. An edit cannot make a second one.
      const asked = (!another && draft.asked) || own;
      if (!draft.editing) setAsked(asked);
      try {
        return await create({ ...bodyOf(draft), start }, draft.country, asked);
      } catch (error) {
        if (isRefusal(error)) setAsked(draft.asked);
        throw error;
      }
    },
    // When another person was faster by a moment, the form shows what they did.
    onError: () => queries.invalidateQueries({ queryKey: ['campaign', draft.editing?.id] }),
    onSuccess: async ({ data }) => {
      clear();
      await queries.invalidateQueries({ queryKey: ['campaigns'] });
      await queries.invalidateQueries({ queryKey: ['campaign', data.id] });
      await navigate({ to: '/campaigns/$id', params: { id: data.id } });
    },
  });
}
