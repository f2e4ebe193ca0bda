import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { ProgressFeed, Snapshot } from '../campaigns/progress-feed';
import { idParams } from '../contracts/common';
import { LIMITS } from '../domain/limits';
import { watchCampaign } from './campaign-reports';
import { callerOf } from './request/caller';
import type { App } from './request/routing';

const config = { auth: 'campaign' } as const;

export interface CampaignProgressDeps {
  progress: ProgressFeed;
  heartbeatMs?: number;
  recheckMs?: number;
}

/** A campaign's progress as server-sent events (api.md 7; HTML, 9.2 Server-sent events). */
export function campaignProgressRoutes(app: App, deps: CampaignProgressDeps): void {
  const { progress, heartbeatMs = LIMITS.progressHeartbeatMs, recheckMs = LIMITS.progressRecheckMs } = deps;

  // Before connections are drained, because draining would wait for endless streams.
  app.addHook('preClose', async () => progress.stop());

  // Without HEAD, which would be answered at the end of the stream.
  const options = { config, schema: { operation: watchCampaign, params: idParams }, exposeHeadRoute: false };
  app.get('/api/campaign/:id/events', options, async (request, reply) => {
    const subscription = await progress.subscribe(callerOf(request).workspaceId, request.params.id);
    const { first } = subscription;
    const seen = String(request.headers['last-event-id'] ?? '');
    if (request.raw.socket.destroyed || (first.isFinal && first.id === seen)) {
      subscription.close();
      // A browser reconnects when its stream ends; a 204 stops that.
      return reply.code(204).send();
    }
    const stream = createEventStream(seen);
    const timers = [
      setInterval(() => stream.beat(), heartbeatMs),
      setInterval(() => void recheck(app, request, stream), recheckMs),
    ];
    stream.body.once('close', () => {
      for (const timer of timers) clearInterval(timer);
      subscription.close();
    });
    stream.tell(first);
    subscription.listen(stream);
    return reply
      .type('text/event-stream; charset=utf-8')
      .headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
      .send(stream.body);
  });
}

async function recheck(app: App, request: FastifyRequest, stream: EventStream): Promise<void> {
  if (!(await app.stillAdmits(request))) stream.end();
}

interface EventStream {
  readonly body: Readable;
  tell(snapshot: Snapshot): void;
  beat(): void;
  end(): void;
}

const RETRY_MS = 2_000;

/**
 * One reader's stream. Every event has the whole progress, so that a missed event need not be repeated. A
 * reader who is slow gets the newest event when they read on. One who returns with the id of the last event
 * seen (`seen`) gets what is new.
 */
function createEventStream(seen: string): EventStream {
  const body = new Readable({ read: () => undefined });
  let last = seen;
  let isFirst = true;
  const write = (text: string) => {
    if (!body.destroyed) body.push(text);
  };
  let isOver = false;
  const end = () => {
    if (isOver) return;
    isOver = true;
    body.push(null);
  };
  // Written at once, so that the headers are sent before the first event.
  write(`retry: ${RETRY_MS}\n\n`);
  return {
    body,
    end,
    tell(snapshot) {
      if (isOver) return;
      const isBehind = body.readableLength > LIMITS.progressBacklogBytes;
      const isNews = snapshot.id !== last || (snapshot.isRunning && !isFirst);
      isFirst = false;
      if ((isNews && !isBehind) || snapshot.isFinal) {
        write(`id: ${snapshot.id}\nevent: progress\ndata: ${JSON.stringify(snapshot.progress)}\n\n`);
        last = snapshot.id;
      }
      if (snapshot.isFinal) end();
    },
    beat() {
      if (!isOver && body.readableLength === 0) write(': still here\n\n');
    },
  };
}
