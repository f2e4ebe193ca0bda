import { lazy, Suspense } from 'react';
import { findingAt } from '../api/findings';
import { ApiProblem } from '../api/problem';
import { Field } from '../design/field';
import { Skeleton } from '../design/states';
import { Tabs } from '../design/tabs';
import { TEXTS } from '../texts';
import { BlockEditor } from './block-editor';
import { EmailPreview, useRendered } from './email-preview';
import type { EditorProps } from './template-editor';

const { templates: texts } = TEXTS;
const CodeEditor = lazy(() => import('../design/code-editor').then((one) => ({ default: one.CodeEditor })));

/** An email as blocks or as HTML, with a preview at two widths. */
export function EmailEditor({ draft, onChange, values, error }: EditorProps) {
  const isDesigned = draft.source === 'design';
  const rendered = useRendered(isDesigned ? draft.layout : undefined);
  const html = isDesigned ? (rendered.html ?? '') : draft.body;
  const wrong = findingAt(error, 'body');
  return (
    <div className="stack">
      <div className="form">
        <Field
          label={texts.subject}
          value={draft.subject}
          required
          wrong={findingAt(error, 'subject')}
          onChange={({ target }) => onChange({ subject: target.value })}
        />
      </div>
      <Tabs
        label={texts.form}
        tabs={[
          { key: 'design', label: texts.asBlocks },
          { key: 'body', label: texts.asHtml },
        ]}
        chosen={draft.source}
        onChoose={(source) =>
          // The HTML begins as what the blocks look like.
          onChange(source === 'body' && rendered.html ? { source, body: rendered.html } : { source })
        }
      >
        <div className="stack">
          <p className="notice">{isDesigned ? texts.blocksNotice : texts.htmlNotice}</p>
          {isDesigned ? (
            <BlockEditor
              layout={draft.layout}
              findings={findingsByBlock(error)}
              onChange={(layout) => onChange({ layout })}
            />
          ) : (
            <Suspense fallback={<Skeleton />}>
              <CodeEditor
                label={texts.html}
                language="html"
                value={draft.body}
                onChange={(body) => onChange({ body })}
              />
            </Suspense>
          )}
          {wrong && <p className="tone-bad small">{wrong}</p>}
        </div>
      </Tabs>
      <section className="stack" aria-label={texts.preview}>
        <h2>{texts.preview}</h2>
        {isDesigned && rendered.problem && <p className="notice bad">{rendered.problem}</p>}
        <EmailPreview subject={draft.subject} html={html} values={values} />
      </section>
    </div>
  );
}

/** `template.<block>.…` belongs to that block. */
function findingsByBlock(error: unknown): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (!(error instanceof ApiProblem)) return found;
  for (const { path, message } of error.findings) {
    const id = /^template\.([^.]+)/.exec(path)?.[1];
    if (id !== undefined) found.set(id, [found.get(id), message].filter(Boolean).join(' '));
  }
  return found;
}
