import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Badge } from '../design/badge';
import { EmailFrame } from '../design/email-frame';
import { ErrorState, Skeleton } from '../design/states';
import { fill, plural } from '../format';
import { TEXTS } from '../texts';
import type { ChannelName, Draft } from './draft';
import { previewQuery } from './new-campaign-queries';

const texts = TEXTS.newCampaign.preview;

/** What the first recipient would get, so that a wrong template or a missing value is seen before anything is sent. */
export function TemplatePreview({ draft, channel }: { draft: Draft; channel: ChannelName }) {
  // It stays open while the next one is read, which another recipient or version needs.
  const [isOpen, setOpen] = useState(false);
  const { data, error, isPending, refetch } = useQuery(previewQuery(draft, channel));
  if (draft[channel].templateId === '') return null;
  if (isPending) return <Skeleton lines={2} />;
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  return (
    <details
      className="stack tight"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>{texts.title}</summary>
      {data.subject && (
        <p>
          <strong>{data.subject}</strong>
        </p>
      )}
      {data.html ? (
        <EmailFrame html={data.html} title={texts.title} width={640} />
      ) : (
        <p className="preview-text">{data.text ?? data.xml}</p>
      )}
      {data.segments !== undefined && data.encoding && (
        <p className="muted">
          {plural(data.segments, texts.segments)} · {TEXTS.sms.encodings[data.encoding]}
        </p>
      )}
      {data.missing.length > 0 && (
        <p>
          <Badge tone="warn">{texts.missing}</Badge>{' '}
          {fill(texts.missingText, { names: data.missing.join(', ') })}
        </p>
      )}
    </details>
  );
}
