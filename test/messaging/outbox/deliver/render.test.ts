import { LIMITS } from '../../../../src/domain/limits';
import type { OutgoingMessage } from '../../../../src/messaging/model/outgoing';
import { render } from '../../../../src/messaging/outbox/deliver/render';

describe('an email with a body of its own', () => {
  const email = (body: string, params = {}): OutgoingMessage =>
    ({
      id: 'msg_1',
      uid: 'u',
      channel: 'email',
      to: 't',
      from: 'f',
      body,
      subject: 'S',
      params,
      attempt: 0,
    }) as OutgoingMessage;

  test('has a text part with its values unescaped, also the next time', () => {
    for (const NAME of ['<Ada> & co', 'Bob']) {
      const { html, text } = render(email('<p>Hi {{NAME}}</p><p>Bye</p>', { NAME }), undefined);
      expect(html).toBe(
        `<p>Hi ${NAME.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')}</p><p>Bye</p>`,
      );
      expect(text).toBe(`Hi ${NAME}\nBye`);
    }
  });

  test('asks for no values beyond those of its body', () => {
    const { html, text } = render(email('<p>{{<b>NAME</b>}}</p>'), undefined);
    expect([html, text]).toEqual(['<p>{{<b>NAME</b>}}</p>', '{{NAME}}']);
  });

  test('has none when it is long', () => {
    const long = 'x'.repeat(LIMITS.ownBodyTextChars);
    expect(render(email(long), undefined).text).toBe(long);
    expect(render(email(`${long}x`), undefined).text).toBeUndefined();
  });
});

test('a message that has an end tells the carrier of it', () => {
  const sms = {
    id: 'msg_1',
    uid: 'u',
    channel: 'sms',
    to: 't',
    from: 'f',
    body: 'Hi',
    params: {},
    attempt: 0,
  };
  const expiresAtMs = Date.parse('2026-11-22T12:00:00.000Z');
  expect(render({ ...sms, expiresAtMs } as OutgoingMessage, undefined).expiresAt).toBe(
    '2026-11-22T12:00:00.000Z',
  );
  expect(render(sms as OutgoingMessage, undefined).expiresAt).toBeUndefined();
});
