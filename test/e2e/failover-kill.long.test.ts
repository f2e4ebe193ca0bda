/** Proves that a campaign over two accounts sends to each recipient once and loses none, when the program is killed and one carrier dies. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { asUser } from '../support/as-user';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const CONTACTS = 1_500;
const ANSWER_MS = 150;
const TIMEOUT_MS = 300_000;

/** A carrier for SMS that knows no message again, so that each request is one more message to the recipient. */
class Carrier {
  readonly taken: string[] = [];
  private readonly server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      this.taken.push((JSON.parse(Buffer.concat(chunks).toString()) as { uid: string }).uid);
      const answer = () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      setTimeout(answer, ANSWER_MS);
    });
  });

  async listen(): Promise<number> {
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
    return (this.server.address() as AddressInfo).port;
  }

  /** What it has taken and not answered is taken all the same. */
  die(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

describe('two accounts with failover', () => {
  const [first, second] = [new Carrier(), new Carrier()];
  let here: Installation;
  beforeAll(async () => {
    here = await Installation.start({
      FANFARE_SMS_PROVIDER: 'http',
      FANFARE_SMS_HTTP_URL: `http://127.0.0.1:${await first.listen()}/`,
    });
  }, 120_000);
  afterAll(async () => {
    await here?.remove();
    first.die();
    second.die();
  });

  const owner = <Body>(method: string, path: string, body: object) =>
    asUser<Body>(here.fanfare.baseUrl, here.credentials.user, method, path, body);

  test(
    'are given each recipient once, though the program is killed and the first carrier dies',
    async () => {
      const url = `http://127.0.0.1:${await second.listen()}/`;
      const made = await owner<{ data: { id: string } }>('POST', '/api/admin/accounts', {
        ...{ name: 'Second', kind: 'http', channels: ['sms'], settings: { url } },
      });
      await owner('PUT', '/api/admin/routes', {
        routes: [
          {
            channel: 'sms',
            failover: true,
            accounts: [{ account: 'default-sms' }, { account: made.data.id }],
          },
        ],
      });
      const listId = await createList(here.api, CONTACTS);
      const id = await createSmsCampaign(here.api, listId, await createSmsTemplate(here.api));
      await until('the first carrier has some', () => first.taken.length > 200, 60_000);
      await here.fanfare.killGroup();
      const beforeKill = first.taken.length;
      expect(beforeKill).toBeLessThan(CONTACTS);
      await here.run();
      await until('the first carrier has more', () => first.taken.length > beforeKill + 200, 120_000);
      first.die();
      await untilPhase(here.api, id, ['completed'], 180_000);

      const all = [...first.taken, ...second.taken];
      expect(new Set(all).size).toBe(all.length);
      expect(second.taken.length).toBeGreaterThan(0);
      const { sent = 0, unknown = 0, ...others } = (await campaignDetail(here.api, id)).counts.sms ?? {};
      expect(sent + unknown).toBe(CONTACTS);
      expect(others).toMatchObject({ total: CONTACTS, failed: 0, rejected: 0, expired: 0 });
      // A recipient that neither carrier has is in doubt, and not called sent.
      expect(CONTACTS - all.length).toBeLessThanOrEqual(unknown);
    },
    TIMEOUT_MS,
  );
});
