import type { Context } from '@opentelemetry/api';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { InjectedSinks, WorkerInterceptors } from '@temporalio/worker';
import { LIMITS } from '../domain/limits';
import type { RequestTraces } from '../http/request/traced-requests';
import type { MessageTraces, TracedMessage } from '../messaging/model/observer';

/** Traces of this process, sent to a collector. There is none unless the operator names one (opentelemetry.ts). */
export interface Tracing {
  readonly requests: RequestTraces;
  readonly messages: MessageTraces;
  /** For the client that starts and signals workflows. */
  readonly client: WorkflowClientInterceptor;
  readonly workers: WorkerTracing;
  /** Headers by which another process goes on with the trace that is under way. */
  headers(): Record<string, string>;
  /** Sends what is left, and stops. */
  close(): Promise<void>;
}

export interface WorkerTracing {
  interceptors: WorkerInterceptors;
  /** Where workflows leave their spans, since nothing else gets out of their sandbox. */
  sinks: InjectedSinks<never>;
}

export interface TracingOptions {
  serviceName: string;
}

/** What one request has accepted: its place in a trace, and how many of its hand-overs are still traced. */
interface Request {
  context: Context;
  left: number;
}

/**
 * Connects a hand-over with the request that brought the message. Kept in memory, because a column would cost
 * every message something: a message that another process hands over, or this one after so many others,
 * begins a trace of its own. For a request with many messages only the first hand-overs are traced, since a
 * campaign would otherwise have a span for each recipient.
 */
export function createMessageTraces(deps: {
  active(): Context;
  handOver(parent: Context | undefined, count: number, told: Parameters<MessageTraces['left']>[1]): void;
}): MessageTraces {
  const known = new Map<string, Request>();
  return {
    accepting(workspaceId, messages) {
      const request: Request = { context: deps.active(), left: LIMITS.tracedHandOvers };
      for (const { uid } of messages) known.set(keyOf({ workspaceId, uid }), request);
      // A map keeps the order in which keys came.
      for (const key of known.keys()) {
        if (known.size <= LIMITS.tracedMessages) break;
        known.delete(key);
      }
    },

    left(messages, told) {
      const counts = new Map<Request | undefined, number>();
      for (const message of messages) {
        const key = keyOf(message);
        const request = known.get(key);
        known.delete(key);
        counts.set(request, (counts.get(request) ?? 0) + 1);
      }
      for (const [request, count] of counts) {
        if (request && request.left-- <= 0) continue;
        deps.handOver(request?.context, count, told);
      }
    },
  };
}

const keyOf = ({ workspaceId = '', uid }: TracedMessage) => `${workspaceId} ${uid}`;
