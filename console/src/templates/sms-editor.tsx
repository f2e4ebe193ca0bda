import { findingAt } from '../api/findings';
import { Badge } from '../design/badge';
import { TextArea } from '../design/field';
import { fill, plural } from '../format';
import { TEXTS } from '../texts';
import { filled } from './placeholders';
import { measureText } from './sms-measure';
import type { EditorProps } from './template-editor';

const { sms: texts } = TEXTS;

/** An SMS with what it costs in segments while it is typed. */
export function SmsEditor({ draft, onChange, values, error }: EditorProps) {
  const text = filled(draft.body, values);
  const { encoding, segments, left, unusual } = measureText(text);
  return (
    <div className="columns">
      <div className="stack tight">
        <TextArea
          label={texts.text}
          hint={texts.hint}
          value={draft.body}
          rows={7}
          required
          wrong={findingAt(error, 'body')}
          onChange={({ target }) => onChange({ body: target.value })}
        />
        <div className="row" role="status" aria-live="polite">
          <Badge tone={segments > 1 ? 'warn' : 'ok'}>{plural(segments, texts.segments)}</Badge>
          <Badge tone={encoding === 'gsm7' ? 'ok' : 'warn'}>{texts.encodings[encoding]}</Badge>
          <span className="muted small">{fill(texts.left, { n: left })}</span>
        </div>
        {unusual.length > 0 && (
          <p className="small">
            {texts.unusual} <code>{unusual.slice(0, 12).join(' ')}</code>
          </p>
        )}
      </div>
      <section className="card stack tight" aria-label={texts.preview}>
        <h2>{texts.preview}</h2>
        <p className="text-preview">{text || <span className="muted">{texts.empty}</span>}</p>
        <p className="muted small">{texts.measured}</p>
      </section>
    </div>
  );
}
