import type { ServerResponse } from 'node:http';

/** How the scripted services of the tests answer. */
export function reply(
  response: ServerResponse,
  status: number,
  body: unknown = {},
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
