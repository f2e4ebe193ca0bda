import { endAfter } from './end-after';
import { problemOf } from './problem';

/**
 * Server-sent events, read by `fetch`: the browser's own EventSource can send no `x-user-id`, and tells no status when
 * it is refused.
 */
interface LiveOptions {
  headers: Record<string, string>;
  onEvent(data: unknown): void;
  /** The connection broke; it is tried again. */
  onBroken(): void;
  /** The server has nothing more to say (204, or the stream was refused for good). */
  onEnd(): void;
  signal: AbortSignal;
}

/** Waits between attempts, so that a restarting server is not asked in a storm. */
const BACK_OFF_MS = [1_000, 2_000, 5_000, 10_000];

/** Three heartbeats of the server: a connection that a network or a hanging server swallows never says that it broke. */
const SILENT_MS = 45_000;

/** Follows a stream until it ends for good or `signal` aborts, however often the connection breaks in between. */
export async function follow(address: string, options: LiveOptions): Promise<void> {
  const { headers, onEvent, onBroken, onEnd, signal } = options;
  let lastId = '';
  let failures = 0;
  while (!signal.aborted) {
    const silence = endAfter(SILENT_MS, signal);
    try {
      const response = await fetch(address, {
        signal: silence.signal,
        credentials: 'same-origin',
        headers: { ...headers, accept: 'text/event-stream', ...(lastId ? { 'last-event-id': lastId } : {}) },
      });
      if (response.status === 204) return onEnd();
      if (!response.ok) {
        if (response.status < 500 && response.status !== 429) return onEnd();
        throw await problemOf(response);
      }
      failures = 0;
      await readEvents(response, silence.again, (event) => {
        lastId = event.id ?? lastId;
        if (event.data !== '') onEvent(JSON.parse(event.data));
      });
    } catch {
      if (signal.aborted) return;
    } finally {
      silence.stop();
    }
    onBroken();
    await delay(BACK_OFF_MS[Math.min(failures, BACK_OFF_MS.length - 1)] as number, signal);
    failures += 1;
  }
}

interface ServerEvent {
  id: string | undefined;
  data: string;
}

async function readEvents(
  response: Response,
  heard: () => void,
  onEvent: (event: ServerEvent) => void,
): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) onEvent(eventOf(block));
  }
}

export function eventOf(block: string): ServerEvent {
  const event: ServerEvent = { id: undefined, data: '' };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^(id|data): ?(.*)$/.exec(line) ?? [];
    if (name === 'id') event.id = value;
    if (name === 'data') event.data += (event.data === '' ? '' : '\n') + value;
  }
  return event;
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
