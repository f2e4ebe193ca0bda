/** Proves which addresses a customer’s URL may lead to. */

import { createTargetGuard, kindOfAddress } from '../../../src/messaging/webhooks/target-guard';

describe('the kind of an address', () => {
  test.each([
    ['93.184.215.14', 'public'],
    ['1.1.1.1', 'public'],
    ['100.63.255.255', 'public'],
    ['100.128.0.0', 'public'],
    ['172.32.0.1', 'public'],
    ['223.255.255.255', 'public'],
    ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', 'public'],
    ['2001:4860:4860::8888', 'public'],
    ['::ffff:8.8.8.8', 'public'],
    ['64:ff9b::808:808', 'public'],
    ['10.0.0.1', 'private'],
    ['127.0.0.1', 'private'],
    ['127.255.255.254', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'private'],
    ['::1', 'private'],
    ['fd12:3456:789a::1', 'private'],
    ['::ffff:127.0.0.1', 'private'],
    ['::ffff:a00:1', 'private'],
    ['0:0:0:0:0:ffff:c0a8:0101', 'private'],
    ['64:ff9b::7f00:1', 'private'],
    ['64:ff9b::10.0.0.1', 'private'],
    ['0.0.0.0', 'never'],
    ['0.1.2.3', 'never'],
    ['169.254.169.254', 'never'],
    ['168.63.129.16', 'never'],
    ['::ffff:168.63.129.16', 'never'],
    ['100.100.100.200', 'never'],
    ['fd00:ec2::254', 'never'],
    ['fd20:ce::254', 'never'],
    ['192.0.0.1', 'never'],
    ['192.0.2.1', 'never'],
    ['192.88.99.1', 'never'],
    ['198.18.0.1', 'never'],
    ['198.19.255.255', 'never'],
    ['198.51.100.1', 'never'],
    ['203.0.113.1', 'never'],
    ['224.0.0.1', 'never'],
    ['239.255.255.255', 'never'],
    ['240.0.0.1', 'never'],
    ['255.255.255.255', 'never'],
    ['::', 'never'],
    ['::ffff:0.0.0.0', 'never'],
    ['::ffff:169.254.169.254', 'never'],
    ['64:ff9b::a9fe:a9fe', 'never'],
    ['64:ff9b:1::a00:1', 'never'],
    ['::127.0.0.1', 'never'],
    ['::ffff:0:7f00:1', 'never'],
    ['fe80::1', 'never'],
    ['fe80::1%eth0', 'never'],
    ['fec0::1', 'never'],
    ['ff02::1', 'never'],
    ['2001::1', 'never'],
    ['2001:db8::1', 'never'],
    ['2002:7f00:1::1', 'never'],
    ['3fff::1', 'never'],
    ['not an address', 'never'],
  ])('%s is %s', (address, kind) => {
    expect(kindOfAddress(address)).toBe(kind);
  });
});

describe('the guard of targets', () => {
  const guard = (allowPrivate: boolean, resolved: Record<string, string[]> = {}) =>
    createTargetGuard({ allowPrivate, resolve: async (name) => resolved[name] ?? [] });
  const judge = (url: string, allowPrivate = false) => {
    try {
      guard(allowPrivate).refuseLiteral(new URL(url));
      return 'taken';
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  test.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f.0.0.1/',
    'http://0177.0.0.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]:8080/',
    'http://localhost/',
    'http://api.localhost./',
    'http://10.1.2.3/',
  ])('%s is refused as it stands, and taken where private targets are allowed', (url) => {
    expect([judge(url), judge(url, true)]).toEqual(['private_target', 'taken']);
  });

  test.each(['http://169.254.169.254/latest', 'http://[fe80::1]/', 'http://0.0.0.0/', 'http://[ff02::1]/'])(
    '%s is refused in any case',
    (url) => {
      expect([judge(url), judge(url, true)]).toEqual(['private_target', 'private_target']);
    },
  );

  test('a name is not judged before it is resolved', () => {
    expect([judge('https://hooks.example/'), judge('https://10.0.0.1.example/')]).toEqual(['taken', 'taken']);
  });

  test('a name that has a private address among public ones is refused', async () => {
    const names = { 'mixed.example': ['93.184.215.14', '10.0.0.1'], 'inside.example': ['192.168.0.1'] };
    for (const name of Object.keys(names)) {
      const judged = guard(false, names).addressesOf(new URL(`https://${name}/`));
      await expect(judged).rejects.toMatchObject({ code: 'private_target' });
    }
    await expect(guard(true, names).addressesOf(new URL('https://mixed.example/'))).resolves.toEqual([
      { address: '93.184.215.14', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ]);
  });

  test('a name without an address leads nowhere', async () => {
    const judged = guard(true).addressesOf(new URL('https://nowhere.example/'));
    await expect(judged).rejects.toMatchObject({ code: 'private_target' });
  });

  test('a name is asked for once, and what it says later changes nothing of what was answered', async () => {
    const answers = [['93.184.215.14'], ['127.0.0.1']];
    const rebinding = createTargetGuard({ allowPrivate: false, resolve: async () => answers.shift() ?? [] });
    const url = new URL('https://rebinding.example/');
    await expect(rebinding.addressesOf(url)).resolves.toEqual([{ address: '93.184.215.14', family: 4 }]);
    await expect(rebinding.addressesOf(url)).rejects.toMatchObject({ code: 'private_target' });
  });
});
