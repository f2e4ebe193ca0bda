import { useEffect, useRef, useState } from 'react';
import { TEXTS } from '../texts';
import type { Layout } from './blocks';
import { asHtml, filled } from './placeholders';

const { templates: texts } = TEXTS;
const WIDTHS = [
  { label: texts.wide, width: 640 },
  { label: texts.narrow, width: 360 },
] as const;

interface EmailPreviewProps {
  subject: string;
  html: string;
  values: Readonly<Record<string, string>>;
}

/** An email as it is, at two widths, in frames that run no script and load nothing from anywhere. */
export function EmailPreview({ subject, html, values }: EmailPreviewProps) {
  const shown = filled(html, values, asHtml);
  return (
    <div className="stack">
      <p>
        <span className="muted">{texts.subject}: </span>
        {filled(subject, values)}
      </p>
      <div className="email-previews">
        {WIDTHS.map(({ label, width }) => (
          <figure key={width} className="stack tight">
            <figcaption className="muted small">{label}</figcaption>
            <Frame title={label} width={width} html={shown} />
          </figure>
        ))}
      </div>
      <p className="muted small">{texts.noImages}</p>
    </div>
  );
}

function Frame({ title, width, html }: { title: string; width: number; html: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    const document = frame.current?.contentDocument;
    if (isReady && document) document.documentElement.innerHTML = html;
  }, [isReady, html]);
  return (
    // On a phone it is wider than the screen, and what scrolls must be reached by keyboard.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className="email-frame" tabIndex={0} aria-label={title}>
      <iframe
        ref={frame}
        title={title}
        // The address has a policy of its own; without `allow-scripts` nothing in the email runs.
        sandbox="allow-same-origin"
        src="/console/preview.html"
        width={width}
        height={480}
        onLoad={() => setReady(true)}
      />
    </section>
  );
}

/** The HTML of a document of blocks, by the server's own renderer; undefined until it is loaded. */
export function useRendered(layout: Layout | undefined): { html?: string; problem?: string } {
  const [state, setState] = useState<{ html?: string; problem?: string }>({});
  useEffect(() => {
    if (!layout) return undefined;
    let isCurrent = true;
    void import('@fanfare/email-layout/renderer.cjs').then(
      ({ renderLayout }) => {
        if (!isCurrent) return;
        try {
          setState({ html: renderLayout(layout) });
        } catch (error) {
          // The last one that could be drawn stays, with what is wrong beside it.
          setState((last) => ({ ...last, problem: error instanceof Error ? error.message : String(error) }));
        }
      },
      (error: unknown) => isCurrent && setState({ problem: String(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [layout]);
  return state;
}
