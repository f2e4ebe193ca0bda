import { setTimeout as delay } from 'node:timers/promises';
import { FanfareError } from './fanfare-error';
import type { Transport } from './transport';
import type { CampaignProgress } from './types';

/** A server that restarts is back long before; one that is away for so long has to be looked after. */
const FAILURES_MAX = 60;
const RECONNECT_MS = 1_000;
/** The server is never silent for so long: it sends a comment at least. */
const SILENCE_MS = 45_000;
/** With `finishedAt`: a campaign is canceled at once, and its counts follow. */
const FINAL = new Set(['completed', 'canceled', 'failed']);

/** The campaign's progress as it comes, over as many connections as it takes, to its end. */
export async function* watchCampaign(
  transport: Transport,
  campaignId: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<CampaignProgress, void, undefined> {
  let lastId = '';
  for (let failures = 0; ; ) {
    const silence = new AbortController();
    const signals = [silence.signal, ...(signal ? [signal] : [])];
    let timer: NodeJS.Timeout | undefined;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
    };
    try {
      heard();
      const answer = await transport.stream({
        method: 'GET',
        path: `/api/campaign/${encodeURIComponent(campaignId)}/events`,
        headers: { accept: 'text/event-stream', ...(lastId ? { 'last-event-id': lastId } : {}) },
        timeoutMs: 0,
        signal: AbortSignal.any(signals),
      });
      // It has ended, and this reader knows how.
      if (answer.status === 204 || !answer.body) return;
      for await (const event of eventsOf(answer.body, heard)) {
        failures = 0;
        if (event.id) lastId = event.id;
        if (event.type !== 'progress') continue;
        const progress = JSON.parse(event.data) as CampaignProgress;
        yield progress;
        if (FINAL.has(progress.phase) && progress.finishedAt !== null) return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof FanfareError && !error.isForTheMoment) throw error;
      if (++failures > FAILURES_MAX) throw error;
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
    await delay(RECONNECT_MS, undefined, signal ? { signal } : {});
  }
}

interface ServerEvent {
  id: string;
  type: string;
  data: string;
}

/** Server-sent events, as the HTML standard has them; comments and `retry` say nothing to us. */
async function* eventsOf(
  body: AsyncIterable<Uint8Array>,
  heard: () => void,
): AsyncGenerator<ServerEvent, void, undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of body) {
    heard();
    text += decoder.decode(bytes, { stream: true });
    const blocks = text.split(/\r?\n\r?\n/);
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = { id: '', type: 'message', data: '' };
      const data: string[] = [];
      for (const line of block.split(/\r?\n/)) {
        const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
        if (field === 'id') event.id = value;
        else if (field === 'event') event.type = value;
        else if (field === 'data') data.push(value);
      }
      if (data.length) yield { ...event, data: data.join('\n') };
    }
  }
}
