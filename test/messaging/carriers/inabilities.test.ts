import { inabilitiesOf } from '../../../src/app/accounts';
import type { Account, AccountKind } from '../../../src/domain/account';
import { type Route, reachOf } from '../../../src/domain/route';
import { findInabilities } from '../../../src/messaging/carriers/routes';
import type { Wish } from '../../../src/providers/vendor/vendor';

const account = (id: string, kind: AccountKind, settings: Record<string, unknown> = {}): Account => ({
  ...{ id, name: id, kind, channels: ['sms', 'voice'], settings, secretNames: [], workspaces: ['*'] },
  ...{ ratePerSecond: undefined, disabled: false, source: 'api' },
});

const ACCOUNTS = new Map(
  [
    account('default-voice', 'simulator'),
    account('default-sms', 'simulator'),
    account('twilio', 'twilio'),
    account('vonage', 'vonage'),
    account('telnyx', 'telnyx'),
    account('whole', 'telnyx', { messagingProfileId: 'mp', connectionId: 'c' }),
    { ...account('off', 'twilio'), disabled: true },
  ].map((one) => [one.id, one]),
);

function judge(wish: Wish, routes: (Partial<Route> & Pick<Route, 'accounts'>)[]) {
  const whole = routes.map((route) => ({ channel: wish.channel, ...route }));
  const accountOf = (id: string) => ACCOUNTS.get(id);
  const reached = reachOf(whole, { ...wish, workspaceId: 'ws', class: 'marketing' }, accountOf);
  const named = reached.map(({ toPrefix, usual, spare }) => ({
    toPrefix,
    usual: usual.flatMap((id) => accountOf(id) ?? []),
    spare: spare.flatMap((id) => accountOf(id) ?? []),
  }));
  return findInabilities(wish, named, inabilitiesOf).map(
    ({ about, severity, message }) => `${severity} ${about} ${/account (\S+)\)$/.exec(message)?.[1]}`,
  );
}

const to = (...ids: string[]) => ({ accounts: ids.map((id) => ({ account: id })) });
const TONES: Wish = {
  channel: 'voice',
  from: '+12025550100',
  body: '<Response><Play digits="1w2"/><Gather finishOnKey="*"><Say>Hi</Say></Gather></Response>',
};
const NAMED: Wish = { channel: 'sms', from: 'Harbour', body: 'Hello' };

describe('what carriers cannot do', () => {
  test('every finding of a route without an account that can is an error', () => {
    expect(judge(TONES, [to('vonage')])).toEqual(['error template vonage', 'error template vonage']);
    expect(judge(NAMED, [to('telnyx')])).toEqual(['error sender telnyx']);
    expect(judge({ ...TONES, body: '<Response/>' }, [to('telnyx')])).toEqual(['error account telnyx']);
  });

  test('accounts that can give no finding', () => {
    expect(judge(TONES, [to('twilio')])).toEqual([]);
    expect(judge(TONES, [])).toEqual([]);
    expect(judge(NAMED, [to('whole')])).toEqual([]);
    expect(judge({ ...NAMED, from: '+12025550100' }, [to('telnyx')])).toEqual([]);
  });

  test('an account that only steps in is a warning, and one that is never used is nothing', () => {
    expect(judge(NAMED, [{ ...to('twilio', 'telnyx'), failover: true }])).toEqual(['warning sender telnyx']);
    expect(judge(NAMED, [to('twilio', 'telnyx')])).toEqual([]);
    expect(judge(NAMED, [{ ...to('telnyx', 'twilio'), failover: true }])).toEqual(['error sender telnyx']);
    expect(judge(NAMED, [to('off', 'telnyx')])).toEqual(['error sender telnyx']);
  });

  test('an account that gets some of the messages is a warning', () => {
    const accounts = [
      { account: 'telnyx', weight: 1 },
      { account: 'twilio', weight: 3 },
    ];
    expect(judge(NAMED, [{ accounts }])).toEqual(['warning sender telnyx']);
    expect(judge(NAMED, [{ ...to('telnyx'), toPrefix: '+1' }])).toEqual(['warning sender telnyx']);
    expect(judge(NAMED, [{ ...to('telnyx'), toPrefix: '+1' }, to('telnyx')])).toEqual([
      'error sender telnyx',
    ]);
  });

  test('a text is too long by what it is without its placeholders', () => {
    const long = { ...NAMED, body: 'x'.repeat(1_001) };
    expect(judge(long, [to('vonage')])).toEqual(['error template vonage']);
    expect(judge(long, [to('twilio')])).toEqual([]);
    expect(judge({ ...NAMED, body: 'x'.repeat(1_601) }, [to('twilio')])).toEqual(['error template twilio']);
  });
});
