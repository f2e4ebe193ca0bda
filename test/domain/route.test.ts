import type { Account } from '../../src/domain/account';
import { chooseAccount, type Route, type Routed, reachOf, routeSender } from '../../src/domain/route';

const account = (id: string, more: Partial<Account> = {}): Account => ({
  ...{ id, name: id, kind: 'http', channels: ['sms'], settings: {}, secretNames: [] },
  ...{ workspaces: ['*'], ratePerSecond: undefined, disabled: false, source: 'api', ...more },
});

const message: Routed = {
  ...{ id: 'msg_1', workspaceId: 'ws_1', channel: 'sms', from: 'SHOP', to: '+442079460000' },
  class: 'marketing',
};

const choose = (routes: Route[], accounts: Account[], of: Partial<Routed> = {}) =>
  chooseAccount(routes, { ...message, ...of }, (id) => accounts.find((one) => one.id === id));

const to = (...ids: string[]) => ids.map((id) => ({ account: id }));

test('a message that no route matches leaves by its channel’s default account', () => {
  expect(choose([], [])).toBe('default-sms');
  expect(choose([{ channel: 'email', accounts: to('a') }], [account('a')])).toBe('default-sms');
});

test('all members of a route must match, and the first that matches decides', () => {
  const routes: Route[] = [
    { channel: 'sms', toPrefix: '+49', accounts: to('german') },
    { channel: 'sms', workspace: 'ws_2', accounts: to('other') },
    { channel: 'sms', class: 'transactional', accounts: to('urgent') },
    { channel: 'sms', sender: 'shop', toPrefix: '+44', accounts: to('british') },
    { channel: 'sms', accounts: to('rest') },
  ];
  const accounts = ['german', 'other', 'urgent', 'british', 'rest'].map((id) => account(id));
  expect(choose(routes, accounts)).toBe('british');
  expect(choose(routes, accounts, { to: '+4930123456' })).toBe('german');
  expect(choose(routes, accounts, { workspaceId: 'ws_2' })).toBe('other');
  expect(choose(routes, accounts, { class: 'transactional' })).toBe('urgent');
  expect(choose(routes, accounts, { from: 'Other' })).toBe('rest');
});

test('an email’s sender is compared by its domain', () => {
  expect(routeSender('email', '"Shop" <news@Shop.example>')).toBe('shop.example');
});

test('a disabled account and one of another workspace are passed over; with none left the message waits', () => {
  const routes: Route[] = [{ channel: 'sms', accounts: to('off', 'theirs', 'ours') }];
  const off = account('off', { disabled: true });
  const theirs = account('theirs', { workspaces: ['ws_2'] });
  expect(choose(routes, [off, theirs, account('ours', { workspaces: ['ws_1'] })])).toBe('ours');
  expect(choose(routes, [off, theirs])).toBeUndefined();
});

test('with weights one account is drawn for each message, the same whenever it is asked for', () => {
  const accounts = [account('a'), account('b')];
  const routes: Route[] = [{ channel: 'sms', accounts: [{ account: 'a', weight: 3 }, { account: 'b' }] }];
  const drawn = Array.from({ length: 4_000 }, (_, i) => choose(routes, accounts, { id: `msg_${i}` }));
  const share = drawn.filter((one) => one === 'a').length / drawn.length;
  expect(share).toBeGreaterThan(0.72);
  expect(share).toBeLessThan(0.78);
  expect(drawn).toEqual(drawn.map((_, i) => choose(routes, accounts, { id: `msg_${i}` })));
});

test('the share of a disabled account goes to the others', () => {
  const accounts = [account('a', { disabled: true }), account('b')];
  const routes: Route[] = [
    {
      channel: 'sms',
      accounts: [
        { account: 'a', weight: 1_000 },
        { account: 'b', weight: 1 },
      ],
    },
  ];
  expect(choose(routes, accounts)).toBe('b');
});

test('an account of weight 0 takes only what fails over to it', () => {
  const weighted = [{ account: 'a' }, { account: 'b', weight: 0 }];
  const ids = Array.from({ length: 200 }, (_, i) => `msg_${i}`);
  const both = [account('a'), account('b')];
  const chosen = (routes: Route[], accounts: Account[]) =>
    new Set(ids.map((id) => choose(routes, accounts, { id })));
  expect(chosen([{ channel: 'sms', accounts: weighted }], both)).toEqual(new Set(['a']));
  const spare: Route[] = [{ channel: 'sms', accounts: weighted, failover: true }];
  expect(chosen(spare, both)).toEqual(new Set(['a']));
  expect(
    chooseAccount(
      spare,
      message,
      (id) => both.find((one) => one.id === id),
      (id) => id === 'a',
    ),
  ).toBe('b');
  const disabled = [account('a', { disabled: true }), account('b')];
  expect(choose(spare, disabled)).toBe('b');
  expect(choose([{ channel: 'sms', accounts: weighted }], disabled)).toBeUndefined();
  const named = (routes: Route[]) => reachOf(routes, message, (id) => both.find((one) => one.id === id));
  expect(named(spare)).toEqual([{ toPrefix: undefined, usual: ['a'], spare: ['b'] }]);
});
