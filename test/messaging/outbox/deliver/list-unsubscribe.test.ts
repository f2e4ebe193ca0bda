import { createListUnsubscribe } from '../../../../src/messaging/outbox/deliver/list-unsubscribe';
import { createUnsubscribeTokens } from '../../../../src/messaging/suppression/unsubscribe-tokens';
import type { Storage } from '../../../../src/storage/storage';
import { describeWithDatabase } from '../../../support/storage';
import { until } from '../../../support/until';
import { addTemplate, createOutboxRig, type OutboxRig, type TestProcess } from '../../outbox-rig';

const TOKENS = createUnsubscribeTokens('a secret');

describe('tokens that unsubscribe', () => {
  const ada = { workspaceId: 'ws_1', address: 'ada@example.com' };

  test('say who, to us alone, and always the same', () => {
    const token = TOKENS.seal(ada);
    expect(TOKENS.open(token)).toEqual(ada);
    expect(TOKENS.seal(ada)).toBe(token);
    expect(Buffer.from(token.slice(1), 'base64url').toString('latin1')).not.toContain('ada');
    expect(createUnsubscribeTokens('a secret').open(token)).toEqual(ada);
    expect(createUnsubscribeTokens('another secret').open(token)).toBeUndefined();
  });

  test('of two people have nothing in common, and none can be made of two', () => {
    const [one, two] = ['ada@example.com', 'adb@example.com'].map((address) =>
      TOKENS.seal({ ...ada, address }),
    );
    expect(one?.slice(1, 23)).not.toBe(two?.slice(1, 23));
    expect(TOKENS.open(`${one?.slice(0, 23)}${two?.slice(23)}`)).toBeUndefined();
  });

  test('of which a character is changed are none', () => {
    const token = TOKENS.seal(ada);
    // Of the last character some bits may stand for nothing.
    for (let i = 0; i < token.length - 1; i++) {
      const other = token[i] === 'A' ? 'B' : 'A';
      expect([i, TOKENS.open(token.slice(0, i) + other + token.slice(i + 1))]).toEqual([i, undefined]);
    }
  });

  test('take little of the time that a message takes', () => {
    for (let i = 0; i < 2_000; i++) TOKENS.seal(ada);
    // Of the processor's time, the best of several rounds: others may be at work on this machine.
    const rounds = Array.from({ length: 10 }, () => {
      const begun = process.cpuUsage();
      for (let i = 0; i < 500; i++) TOKENS.seal({ ...ada, address: `person-${i}@example.com` });
      const { user, system } = process.cpuUsage(begun);
      return (user + system) / 500;
    });
    expect(Math.min(...rounds)).toBeLessThan(60);
  });
});

describeWithDatabase('mail to many', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let one: TestProcess;
  let mailto: string | undefined;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    mailto = undefined;
    rig = await createOutboxRig(storage);
    one = await rig.process(
      {},
      {
        listUnsubscribe: {
          linkFor: (...given) => list().linkFor(...given),
          headersFor: (...given) => list().headersFor(...given),
        },
      },
    );
  });
  afterEach(() => rig.stop());
  const list = () =>
    createListUnsubscribe({ tokens: TOKENS, publicUrl: () => 'https://mail.example.com', mailto });

  async function handedOver(uid: string, more: Record<string, unknown> = {}) {
    await one.delivery.accept(rig.workspaceId, rig.email(uid, more));
    await until(`${uid} is handed over`, () => one.email.uids().includes(uid));
    const message = one.email.taken.find((taken) => taken.uid === uid);
    if (!message) throw new Error(`${uid} was not handed over`);
    return message;
  }
  const linkFor = (address: string) =>
    `https://mail.example.com/u/${TOKENS.seal({ workspaceId: rig.workspaceId, address })}`;

  test('carries what a mail program needs to unsubscribe by one click', async () => {
    const { headers } = await handedOver('m1', {
      to: 'Ada@Example.com',
      from: '"The News" <spring.news@shop.example.com>',
      campaign: 'run:1\u00e9',
      replyTo: 'answers@example.com',
    });
    expect(headers).toEqual({
      'Reply-To': 'answers@example.com',
      'List-Unsubscribe': `<${linkFor('ada@example.com')}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'List-Id': '<spring-news.shop.example.com>',
      'Feedback-ID': `run_1_:${rig.workspaceId}:marketing:fanfare`,
    });
  });

  test('names an address for mail as well, if there is one', async () => {
    mailto = 'unsubscribe@example.com';
    const { headers } = await handedOver('m1');
    const link = linkFor('ada@example.com');
    const token = link.slice(link.lastIndexOf('/') + 1);
    expect(headers?.['List-Unsubscribe']).toBe(
      `<${link}>, <mailto:unsubscribe@example.com?subject=${token}>`,
    );
  });

  test('of the transactional kind carries nothing of this', async () => {
    expect((await handedOver('m1', { class: 'transactional' })).headers).toBeUndefined();
    const { headers } = await handedOver('m2', { class: 'transactional', replyTo: 'a@example.com' });
    expect(headers).toEqual({ 'Reply-To': 'a@example.com' });
  });

  test('that is retried after it was read from the table carries the same', async () => {
    let tries = 0;
    one.email.script = (message) => {
      tries += 1;
      return tries === 1
        ? { kind: 'transient', code: 'busy', retryAfterMs: 50 }
        : { kind: 'accepted', providerId: message.id };
    };
    await one.delivery.accept(rig.workspaceId, rig.email('m1'));
    await until('it is sent', async () => (await rig.states()).m1 === 'sent');
    const [first, second] = one.email.taken;
    expect(first?.headers).toHaveProperty('List-Unsubscribe');
    expect(second?.headers).toEqual(first?.headers);
  });

  test('says the link where its body asks for it, and that is no missing value', async () => {
    const template = await addTemplate(rig.db, rig.workspaceId, {
      channel: 'email',
      subject: 'News',
      body: '<p>News</p><p><a href="{{UNSUBSCRIBE_URL}}">Unsubscribe</a></p>',
    });
    const link = linkFor('ada@example.com');
    const message = await handedOver('m1', { 'template-id': template, params: {} });
    expect(message.html).toContain(`href="${link}"`);
    expect(message.text).toContain(link);
    const own = {
      'template-id': undefined,
      subject: 'S',
      body: '<a href="{{ UNSUBSCRIBE_URL }}">no more</a>',
      params: {},
    };
    const transactional = await handedOver('m2', { ...own, class: 'transactional' });
    expect([transactional.html, transactional.headers]).toEqual([`<a href="${link}">no more</a>`, undefined]);
  });

  test("says the caller's own link if there is one", async () => {
    const params = { UNSUBSCRIBE_URL: 'https://shop.example.com/bye' };
    const body = '<a href="{{UNSUBSCRIBE_URL}}">no more</a>';
    const { html } = await handedOver('m1', { 'template-id': undefined, subject: 'S', body, params });
    expect(html).toBe('<a href="https://shop.example.com/bye">no more</a>');
  });
});
