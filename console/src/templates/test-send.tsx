import { useMutation } from '@tanstack/react-query';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import { useOnceKey } from '../api/once-key';
import type {
  PreviewTemplateData,
  PreviewTemplateResponse,
  SendTestMessageData,
  SendTestMessageResponse,
  TemplatePreview,
} from '../api/types.gen';
import { Button } from '../design/button';
import { Field } from '../design/field';
import { ErrorState } from '../design/states';
import { useTyped } from '../design/use-typed';
import { fill, plural } from '../format';
import { TEXTS } from '../texts';
import { draftOf, type Template, textsOf } from './draft';
import { EmailPreview } from './email-preview';
import { placeholdersIn } from './placeholders';
import { Warnings } from './template-editor';

const { templates: texts, sms } = TEXTS;

/** Shows the saved version as the server renders it, and sends it to one address. */
export function TestSend({ template }: { template: Template }) {
  const { id, channel } = template;
  const place = `test.${id}`;
  const [params, setParams] = useTyped<Readonly<Record<string, string>>>(`${place}.params`, {});
  const [to, setTo] = useTyped(`${place}.to`, '');
  const [from, setFrom] = useTyped(`${place}.from`, '');
  const names = placeholdersIn([...textsOf(channel, draftOf(channel, template)), template.body]);
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== ''));
  const preview = usePreview(id, given);
  const test = useTestSend(template);
  return (
    <div className="stack">
      <form
        className="stack form"
        onSubmit={(event) => {
          event.preventDefault();
          test.mutate({ to, from, params: given });
        }}
      >
        {names.map((name) => (
          <Field
            key={name}
            label={name}
            value={params[name] ?? ''}
            wrong={findingAt(test.error, `params.${name}`)}
            onChange={({ target }) => setParams({ ...params, [name]: target.value })}
          />
        ))}
        <div>
          <Button busy={preview.isPending} onClick={() => preview.mutate()}>
            {texts.showPreview}
          </Button>
        </div>
        <h2>{texts.testTitle}</h2>
        <p className="muted">{texts.testText}</p>
        <Field
          label={texts.from}
          hint={texts.fromHints[channel]}
          value={from}
          required
          wrong={findingAt(test.error, 'from')}
          onChange={({ target }) => setFrom(target.value)}
        />
        <Field
          label={texts.to}
          value={to}
          required
          wrong={findingAt(test.error, 'to')}
          onChange={({ target }) => setTo(target.value)}
        />
        <div>
          <Button kind="primary" type="submit" busy={test.isPending}>
            {texts.sendTest}
          </Button>
        </div>
      </form>
      {test.error && <ErrorState error={test.error} />}
      {test.data && (
        <p className="notice" role="status">
          {fill(texts.testSent, { to: test.data.data.to, state: test.data.data.state })}
        </p>
      )}
      {preview.error && <ErrorState error={preview.error} onRetry={() => preview.mutate()} />}
      {preview.data && <Rendered preview={preview.data.data} />}
    </div>
  );
}

function usePreview(id: string, params: Record<string, string>) {
  return useMutation({
    mutationFn: () =>
      call<PreviewTemplateData, PreviewTemplateResponse>('POST', '/api/template/{id}/preview', {
        path: { id },
        body: { params },
      }),
  });
}

function useTestSend({ id, version }: Template) {
  const once = useOnceKey();
  return useMutation({
    mutationFn: (body: { to: string; from: string; params: Record<string, string> }) =>
      call<SendTestMessageData, SendTestMessageResponse>('POST', '/api/template/{id}/test-send', {
        path: { id },
        body,
        idempotencyKey: once.keyOf([id, version, body]),
      }),
    // The next press means another message.
    onSuccess: once.done,
  });
}

function Rendered({ preview }: { preview: TemplatePreview }) {
  const { html, text, xml, subject = '', segments, encoding, missing, warnings } = preview;
  return (
    <section className="stack" aria-label={texts.preview}>
      <h2>{texts.preview}</h2>
      {missing.length > 0 && (
        <p className="notice warn">
          {texts.missing} <code>{missing.join(', ')}</code>
        </p>
      )}
      {warnings.length > 0 && <Warnings warnings={warnings} />}
      {segments !== undefined && encoding && (
        <p>
          {plural(segments, sms.segments)}, {sms.encodings[encoding]}
        </p>
      )}
      {html !== undefined && <EmailPreview subject={subject} html={html} values={{}} />}
      {html === undefined && <p className="card text-preview">{text ?? xml}</p>}
    </section>
  );
}
