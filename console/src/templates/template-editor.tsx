import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import { useOnceKey } from '../api/once-key';
import type {
  CreateTemplateData,
  CreateTemplateResponse,
  Finding,
  ReadTemplateData,
  ReadTemplateResponse,
  ReplaceTemplateData,
  ReplaceTemplateResponse,
} from '../api/types.gen';
import { Button } from '../design/button';
import { Conflict } from '../design/conflict';
import { Field } from '../design/field';
import { useKeptDraft } from '../design/kept-draft';
import { KeptNote } from '../design/kept-note';
import { ErrorState, Skeleton } from '../design/states';
import { useToast } from '../design/toast';
import { fill } from '../format';
import { Allowed, ReadableBelow } from '../shell/allowed';
import { TEXTS } from '../texts';
import { bodyOf, type Channel, type Draft, draftOf, type Template, textOfDraft, textsOf } from './draft';
import { placeholdersIn } from './placeholders';
import { SmsEditor } from './sms-editor';
import './templates.css';

const { templates: texts } = TEXTS;
const EmailEditor = lazy(() => import('./email-editor').then((one) => ({ default: one.EmailEditor })));
const VoiceEditor = lazy(() => import('./voice-editor').then((one) => ({ default: one.VoiceEditor })));

/** What each channel's editor gets. */
export interface EditorProps {
  draft: Draft;
  onChange(changed: Partial<Draft>): void;
  /** Sample values of placeholders, by name. */
  values: Readonly<Record<string, string>>;
  error: unknown;
}

/** Writes a new template, or a new version of one. */
export function TemplateEditor({ channel, template }: { channel: Channel; template?: Template }) {
  const version = template?.version ?? 0;
  const stored = draftOf(channel, template);
  const kept = useKeptDraft(template?.id ?? `new-${channel}`, version, stored);
  const { draft, isChanged } = kept;
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const { save, warnings } = useSave(channel, template, kept.saved);
  const onChange = (changed: Partial<Draft>) => kept.setDraft({ ...draft, ...changed });
  const Editor = { sms: SmsEditor, email: EmailEditor, voice: VoiceEditor }[channel];
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(draft);
      }}
    >
      <ReadableBelow from="editor">
        <div className="form">
          <Field
            label={texts.name}
            value={draft.templateName}
            maxLength={200}
            required
            wrong={findingAt(save.error, 'templateName')}
            onChange={({ target }) => onChange({ templateName: target.value })}
          />
        </div>
        <Suspense fallback={<Skeleton />}>
          <Editor draft={draft} onChange={onChange} values={values} error={save.error} />
        </Suspense>
      </ReadableBelow>
      <Samples names={placeholdersIn(textsOf(channel, draft))} values={values} onChange={setValues} />
      {kept.isBehind && (
        <Conflict
          text={fill(TEXTS.conflict.text, { version })}
          before={textOfDraft(channel, kept.from)}
          after={textOfDraft(channel, stored)}
          onKeep={kept.keepMine}
          onTake={kept.discard}
        />
      )}
      <KeptNote isKept={kept.isKept} />
      {save.error && <ErrorState error={save.error} />}
      {warnings.length > 0 && <Warnings warnings={warnings} />}
      <div className="row">
        <Allowed from="editor" label={template ? texts.saveVersion : texts.create}>
          <Button
            kind="primary"
            type="submit"
            busy={save.isPending}
            unavailable={template !== undefined && (!isChanged || kept.isBehind)}
          >
            {template ? texts.saveVersion : texts.create}
          </Button>
        </Allowed>
        {isChanged && (
          <Button kind="quiet" onClick={kept.discard}>
            {texts.discard}
          </Button>
        )}
        <span className="muted small" role="status">
          {isChanged ? texts.unsaved : template ? fill(texts.savedAs, { version: template.version }) : ''}
        </span>
      </div>
    </form>
  );
}

function useSave(
  channel: Channel,
  template: Template | undefined,
  saved: ReturnType<typeof useKeptDraft<Draft>>['saved'],
) {
  const [warnings, setWarnings] = useState<readonly Finding[]>([]);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const say = useToast();
  const once = useOnceKey();
  const save = useMutation({
    mutationFn: async (draft: Draft) => {
      const body = bodyOf(channel, draft);
      if (!template)
        return call<CreateTemplateData, CreateTemplateResponse>('POST', '/api/template', {
          body,
          idempotencyKey: once.keyOf(body),
        });
      const path = { id: template.id };
      // Each save makes a version of its own, so that the form looks first whether it knows the newest.
      const { data } = await call<ReadTemplateData, ReadTemplateResponse>('GET', '/api/template/{id}', {
        path,
      });
      if (data.version === template.version)
        return call<ReplaceTemplateData, ReplaceTemplateResponse>('PUT', '/api/template/{id}', {
          path,
          body,
        });
      queries.setQueryData(['template', template.id], data);
      return undefined;
    },
    onSuccess: async (answer, sent) => {
      if (!answer) return;
      const { id, version } = answer.template;
      saved(sent, { version, content: draftOf(channel, answer.template), ...(template ? {} : { key: id }) });
      setWarnings(answer.warnings);
      say(fill(texts.savedAs, { version: answer.template.version }));
      await queries.invalidateQueries({ queryKey: ['templates'] });
      queries.setQueryData(['template', answer.template.id], answer.template);
      if (!template)
        await navigate({ to: '/templates/$templateId', params: { templateId: answer.template.id } });
    },
  });
  return { save, warnings };
}

/** Findings that did not keep it from being saved. */
export function Warnings({ warnings }: { warnings: readonly Finding[] }) {
  return (
    <section className="notice warn stack tight" aria-label={texts.warnings}>
      <h2>{texts.warnings}</h2>
      <ul className="bullets">
        {warnings.map(({ path, code, message }) => (
          <li key={`${path} ${code} ${message}`}>
            <code>{path}</code> {message}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface SamplesProps {
  names: readonly string[];
  values: Readonly<Record<string, string>>;
  onChange(values: Readonly<Record<string, string>>): void;
}

function Samples({ names, values, onChange }: SamplesProps) {
  if (names.length === 0) return <p className="muted small">{texts.noPlaceholders}</p>;
  return (
    <fieldset className="fieldset stack tight">
      <legend>{texts.samples}</legend>
      <p className="muted small">{texts.samplesHint}</p>
      <div className="settings">
        {names.map((name) => (
          <Field
            key={name}
            label={name}
            value={values[name] ?? ''}
            onChange={({ target }) => onChange({ ...values, [name]: target.value })}
          />
        ))}
      </div>
    </fieldset>
  );
}
