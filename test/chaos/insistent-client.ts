import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient } from '../support/api-client';
import type { Workspace } from './workspaces';

/** How long a request is repeated while the service does not answer. */
export const PATIENCE_MS = 180_000;
const ANSWER_MS = 20_000;

/** A backend's requests to a service that is killed and cut off meanwhile. */
export interface InsistentClient {
  /** Once. */
  ask(method: string, path: string, body?: unknown, key?: string): Promise<Response>;
  /** Until it is answered; what is refused for good is an error. Answers the body. */
  insist(method: string, path: string, body?: unknown, key?: string): Promise<string>;
}

export async function insistentClient(baseUrl: string, workspace: Workspace): Promise<InsistentClient> {
  const api = new ApiClient(baseUrl, workspace);
  const headers = { authorization: `Bearer ${await api.bearer()}`, 'x-api-key': workspace.apiKey };
  await api.close();

  async function ask(method: string, path: string, body?: unknown, key?: string): Promise<Response> {
    return fetch(baseUrl + path, {
      method,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
  }

  return {
    ask,
    async insist(method, path, body, key) {
      for (const deadline = Date.now() + PATIENCE_MS; ; await delay(200)) {
        const answer = await ask(method, path, body, key).catch(() => undefined);
        const text = await answer?.text().catch(() => undefined);
        if (answer && text !== undefined && answer.status < 300) return text;
        const isFinal = answer && answer.status < 500 && ![409, 429].includes(answer.status);
        if (isFinal || Date.now() > deadline) {
          throw new Error(`${method} ${path}: ${answer?.status ?? 'no answer'} ${text ?? ''}`);
        }
      }
    },
  };
}

/** The types of what happened to a message, in order. */
export async function eventsOf({ insist }: InsistentClient, uid: string): Promise<string[]> {
  const { data } = JSON.parse(await insist('GET', `/messages/${uid}`)) as {
    data: { events: { type: string }[] };
  };
  return data.events.map(({ type }) => type);
}
