import type { ApiClient } from './api-client';
import { reasonText } from './campaign-reason';
import { type CampaignProgress, progressText, summaryTable } from './campaign-report';
import { followCampaign } from './follow-campaign';
import { createProgressLine } from './progress-line';

export interface WatchOptions {
  json?: boolean;
  signal: AbortSignal;
}

/** Returns the exit code: 0 when the campaign was completed, 1 when it ended otherwise or watching was stopped. */
export async function watchCampaign(
  api: ApiClient,
  id: string,
  { json, signal }: WatchOptions,
): Promise<number> {
  const show = json ? showChanges() : showLine();
  try {
    const last = await followCampaign(api, id, { signal, tell: show.tell });
    show.end(last);
    return last.phase === 'completed' ? 0 : 1;
  } catch (error) {
    show.end(undefined);
    if (signal.aborted) return 1;
    throw error;
  }
}

interface Show {
  tell(progress: CampaignProgress): void;
  end(last: CampaignProgress | undefined): void;
}

function showLine(): Show {
  const line = createProgressLine(process.stdout);
  const startedAt = Date.now();
  const textOf = (progress: CampaignProgress) => progressText(progress, Date.now() - startedAt);
  return {
    tell: (progress) => line.update(textOf(progress)),
    end(last) {
      line.finish(last && textOf(last));
      if (last)
        process.stdout.write(`${last.reason ? `${reasonText(last.reason)}\n` : ''}\n${summaryTable(last)}`);
    },
  };
}

/** JSON Lines: one object for every change. */
function showChanges(): Show {
  let shown = '';
  const tell = (progress: CampaignProgress) => {
    const { id, status, phase, counts, skipped, finishedAt, reason, release } = progress;
    const text = JSON.stringify({ id, status, phase, counts, skipped, finishedAt, reason, release });
    if (text !== shown) process.stdout.write(`${text}\n`);
    shown = text;
  };
  return { tell, end: (last) => last && tell(last) };
}
