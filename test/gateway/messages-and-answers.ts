import type { ServerResponse } from 'node:http';
import type { OutgoingMessage } from '../../src/gateway/gateway';

/** What tests of the gateway send, and how their services answer. */

export function messages(count: number): OutgoingMessage[] {
  return Array.from({ length: count }, (_, i) => ({
    uid: `u${i}`,
    channel: 'sms',
    to: '+12025550100',
    from: '12345',
    templateId: 'tpl_1',
    version: 2,
    params: { NAME: 'A' },
    campaign: 'cmp_1',
  }));
}

export function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
