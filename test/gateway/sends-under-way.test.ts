/** Proves that a hold does not wait for the sends that are under way. */

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Gateway } from '../../src/gateway/gateway';
import { openGateway } from '../../src/gateway/http-gateway';
import { reply } from '../support/reply';
import { until } from '../support/until';
import { messages } from './messages';

describe('single sends under way at the messaging service', () => {
  let server: Server;
  let gateway: Gateway;
  let capabilities: string[];
  let answer: (path: string, response: ServerResponse) => void;

  beforeEach(async () => {
    server = createServer((request, response) => {
      request.resume().on('end', () => {
        const token = { access_token: 't', valid_till: '2099-01-01 00:00:00', capabilities };
        if (request.url === '/api/v1/auth/token') reply(response, 200, token);
        else answer(request.url ?? '', response);
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const credentials = { clientId: 'cli', clientSecret: 's:cret', apiKey: 'key' };
    gateway = openGateway({ authUrl: url, sendUrl: url, appUrl: url, ...credentials });
  });

  afterEach(async () => {
    await gateway.close();
    server.closeAllConnections();
    server.close();
  });

  test.each([
    { told: [], atOnce: 50 },
    { told: ['idempotent', 'holds'], atOnce: 200 },
  ])('are $atOnce where it says $told, and never more', async ({ told, atOnce }) => {
    capabilities = told;
    let [most, taken] = [0, 0];
    let underWay: ServerResponse[] = [];
    // Answered together when as many as expected have come, and a moment in which more could.
    const answerAll = () => {
      for (const response of underWay) reply(response, 202, { data: { state: 'accepted' } });
      taken += underWay.length;
      underWay = [];
    };
    answer = (_, response) => {
      underWay.push(response);
      most = Math.max(most, underWay.length);
      if (underWay.length === atOnce || taken + underWay.length === 800) setTimeout(answerAll, 50);
    };
    // Two chunks, as of the two lanes of a shard.
    await Promise.all([gateway.send(messages(400)), gateway.send(messages(400))]);
    expect(most).toBe(atOnce);
    expect(taken).toBe(800);
  });

  test('do not wait for templates that do not come, where one address has both', async () => {
    capabilities = [];
    const unanswered: ServerResponse[] = [];
    answer = (path, response) => {
      if (path.startsWith('/api/template/')) unanswered.push(response);
      else reply(response, 202, { data: { state: 'accepted' } });
    };
    const templates = Array.from({ length: 100 }, () => gateway.findTemplate('sms', 'tpl_1', 1));
    await until('as many are asked for as there are connections', () => unanswered.length === 50);
    const answers = await gateway.send(messages(100));
    expect(answers.filter(({ kind }) => kind === 'accepted')).toHaveLength(100);
    answer = (_, response) => reply(response, 200, { templates: [] });
    for (const response of unanswered) reply(response, 200, { templates: [] });
    expect(await Promise.all(templates)).toEqual(templates.map(() => undefined));
  });

  test('do not keep a hold waiting, however many wait for a connection', async () => {
    capabilities = ['holds'];
    const unanswered: ServerResponse[] = [];
    answer = (path, response) => {
      if (path === '/send-msg') unanswered.push(response);
      else reply(response, 200, { data: {} });
    };
    const sent = gateway.send(messages(500));
    await gateway.hold('cmp_1');
    answer = (_, response) => reply(response, 202, { data: { state: 'accepted' } });
    for (const response of unanswered) reply(response, 202, { data: { state: 'accepted' } });
    expect(new Set((await sent).map(({ kind }) => kind))).toEqual(new Set(['accepted']));
  });
});
