import { messageList } from '../../src/contracts/messages';
import { message } from '../../src/contracts/send';
import { isWithinAYear } from '../../src/contracts/year-ahead';

const SMS = { channel: 'sms', uid: 'u1', to: '+12025550123', from: '12345', 'template-id': 't1' };
const CALL = { ...SMS, channel: 'voice', from: '+12025550100' };
const EMAIL = {
  channel: 'email',
  uid: 'u1',
  to: 'a@example.com',
  from: 'b@example.com',
  'template-id': 't1',
};

const paths = (value: unknown) =>
  message.safeParse(value).error?.issues.map((issue) => issue.path.join('.')) ?? [];

describe('the message of the send endpoint', () => {
  test("the specification's fields are enough, unknown ones are ignored, and addresses are normalised", () => {
    const parsed = message.parse({
      ...SMS,
      to: ' +1 (202) 555-0123',
      params: { N: 1, F: 'x' },
      color: 'red',
    });
    expect(parsed).toEqual({ ...SMS, params: { N: 1, F: 'x' }, class: 'marketing' });
  });

  test('a blank body or subject is none, so that the template’s is sent', () => {
    expect(message.parse({ ...EMAIL, body: '', subject: ' ' })).toEqual({ ...EMAIL, class: 'marketing' });
  });

  test('a message may be for a year ahead, to the same hour of the same date', () => {
    const at = (iso: string, now: string) => isWithinAYear(iso, Date.parse(now));
    expect(at('2027-11-22T10:00:00Z', '2026-11-22T10:00:00Z')).toBe(true);
    expect(at('2027-11-22T10:00:00.001Z', '2026-11-22T10:00:00Z')).toBe(false);
    expect(at('2028-03-01T00:00:00Z', '2027-03-01T00:00:00Z')).toBe(true);
    expect(at('2028-03-02T00:00:00Z', '2027-03-01T00:00:00Z')).toBe(false);
    expect(at('2029-03-01T00:00:00Z', '2028-02-29T00:00:00Z')).toBe(true);
  });

  test('a bound of a list may have the plus of its offset as a query has it, as it is or as a space', () => {
    const from = new Date('2026-01-01T09:00:00Z');
    for (const given of ['2026-01-01T10:00:00+01:00', '2026-01-01T10:00:00 01:00']) {
      expect(messageList.parse({ from: given })).toMatchObject({ from });
    }
  });

  test.each(['2026-12-01T10:00Z', '2026-12-01T10:00:00', '2026-12-01', '1 December'])(
    'the time %s is refused with what to write',
    (sendAt) => {
      const [problem] = message.safeParse({ ...SMS, sendAt }).error?.issues ?? [];
      expect(problem).toMatchObject({
        path: ['sendAt'],
        message: expect.stringContaining('seconds and an offset, such as 2026-12-01T10:00:00Z'),
      });
    },
  );

  test('a bound of a list without an offset is refused, because the server’s clock is not the caller’s', () => {
    const [problem] = messageList.safeParse({ from: '2026-01-01T10:00:00' }).error?.issues ?? [];
    expect(problem).toMatchObject({ path: ['from'], message: expect.stringContaining('an offset') });
    expect(messageList.parse({ to: '2026-01-01' })).toMatchObject({ to: new Date('2026-01-01T00:00:00Z') });
  });

  test('all errors are reported at once, those of addresses among them', () => {
    const wrong = { channel: 'sms', uid: 'a b', to: '12', from: 'far too long a name', version: 0 };
    expect(paths(wrong).sort()).toEqual(['from', 'template-id', 'to', 'uid', 'version']);
    expect(paths({}).sort()).toEqual(['channel', 'from', 'template-id', 'to', 'uid']);
    expect(paths(null)).toEqual(['']);
  });

  test.each([
    [{ ...SMS, uid: 'x'.repeat(129) }, ['uid']],
    [{ ...SMS, uid: '' }, ['uid']],
    [{ ...SMS, uid: 'naïve' }, ['uid']],
    [{ ...SMS, from: '12' }, ['from']],
    [{ ...SMS, from: 'Fanfare' }, []],
    [{ ...SMS, from: '+12025550199' }, []],
    [{ ...SMS, channel: 'voice' }, ['from']],
    [{ ...SMS, params: { lower: 'x' } }, ['params.lower']],
    [{ ...SMS, params: { A: true } }, ['params.A']],
    [{ ...SMS, params: { A: Number.POSITIVE_INFINITY } }, ['params.A']],
    [{ ...SMS, params: { A: 'é'.repeat(8_193) } }, ['params.A']],
    [{ ...SMS, params: { A: 'é'.repeat(8_192) } }, []],
    [{ ...SMS, params: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`P${i}`, i])) }, ['params']],
    [{ ...SMS, campaign: 'c'.repeat(65) }, ['campaign']],
    [{ ...SMS, sendAt: 'tomorrow' }, ['sendAt']],
    [{ ...SMS, sendAt: new Date(Date.now() + 400 * 86_400_000).toISOString() }, ['sendAt']],
    [{ ...SMS, class: 'other' }, ['class']],
    [{ ...SMS, voice: { machine: 'hangup' } }, ['voice']],
    [{ ...CALL, voice: { machine: 'leave_message', ringTimeoutSeconds: 5, maxSeconds: 840 } }, []],
    [{ ...CALL, voice: {} }, []],
    [
      { ...CALL, voice: { machine: 'shout', ringTimeoutSeconds: 4, maxSeconds: 4 } },
      ['voice.machine', 'voice.ringTimeoutSeconds', 'voice.maxSeconds'],
    ],
    [{ ...CALL, voice: { ringTimeout: 20 } }, ['voice']],
    [{ ...EMAIL, from: '"Ada, of Us" <ada@example.com>' }, []],
    [{ ...EMAIL, from: 'Ada\r\nBcc: x <ada@example.com>' }, ['from']],
    [{ ...EMAIL, subject: 'one\r\ntwo' }, ['subject']],
    [{ ...EMAIL, to: 'nobody' }, ['to']],
    [{ ...EMAIL, 'template-id': undefined }, ['template-id']],
    [{ ...EMAIL, 'template-id': undefined, body: 'b', subject: 's' }, []],
    [{ ...EMAIL, 'template-id': undefined, body: ' \n', subject: 's' }, ['template-id']],
    [{ ...EMAIL, 'template-id': undefined, body: 'b', subject: '' }, ['template-id']],
    [{ ...SMS, 'template-id': undefined, body: 'b', subject: 's' }, ['template-id']],
  ])('%j: wrong fields %j', (value, wrong) => {
    expect(paths(value)).toEqual(wrong);
  });
});
