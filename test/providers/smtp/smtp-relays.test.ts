import type { SMTPServerOptions } from 'smtp-server';
import type { HandOver, HandOverResult, Provider } from '../../../src/providers/provider';
import { makeCertificate } from '../../support/certificate';
import { freePort } from '../../support/free-port';
import { until } from '../../support/until';
import { type SmtpCarrier, startSmtpCarrier } from './smtp-carrier';
import { mail, openSmtp } from './smtp-rig';

const opened: Provider[] = [];
const carriers: SmtpCarrier[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((provider) => provider.close()));
  await Promise.all(carriers.splice(0).map((carrier) => carrier.close()));
});

async function carrier(options: SMTPServerOptions = {}): Promise<SmtpCarrier> {
  const started = await startSmtpCarrier(options);
  carriers.push(started);
  return started;
}

function open(...given: Parameters<typeof openSmtp>) {
  const provider = openSmtp(...given);
  opened.push(provider);
  return provider;
}

const many = (count: number, given: Partial<HandOver> = {}) =>
  Array.from({ length: count }, () => mail(given));
const kinds = (results: readonly HandOverResult[]) => results.map(({ kind }) => kind);

describe('several relays', () => {
  test('share the mail by their weights', async () => {
    const [a, b] = [await carrier(), await carrier()];
    const provider = open(`smtp://127.0.0.1:${a.port}?tls=none&weight=3,smtp://127.0.0.1:${b.port}?tls=none`);
    for (let i = 0; i < 20; i++) await provider.handOver([mail()]);
    expect([a.delivered.length, b.delivered.length]).toEqual([15, 5]);
  });

  test('stand in for one that is away, whose turn comes again when it is back', async () => {
    const away = await freePort();
    const a = await carrier();
    const provider = open(`smtp://127.0.0.1:${away}?tls=none,smtp://127.0.0.1:${a.port}?tls=none`);
    expect(new Set(kinds(await provider.handOver(many(20))))).toEqual(new Set(['accepted']));
    expect(a.delivered).toHaveLength(20);
  });

  test('do not stand in for one that refused the message, or may have taken it', async () => {
    const [a, b] = [await carrier(), await carrier()];
    const provider = open(`smtp://127.0.0.1:${a.port}?tls=none,smtp://127.0.0.1:${b.port}?tls=none`);
    const given = ['reject@example.net', 'down@example.com', 'lost@example.edu'].map((to) => mail({ to }));
    expect(kinds(await provider.handOver(given))).toEqual(['rejected', 'transient', 'unknown']);
    expect([...a.delivered, ...b.delivered]).toEqual([given[2]?.id]);
  });

  test('that are all away leave every message to be tried again', async () => {
    const provider = open(
      `smtp://127.0.0.1:${await freePort()}?tls=none,smtp://127.0.0.1:${await freePort()}`,
    );
    const results = await provider.handOver(many(10));
    expect(results).toEqual(
      results.map(() => ({ kind: 'transient', code: 'ECONNREFUSED', retryAfterMs: 60_000, unreached: true })),
    );
  });

  test('are held by as many connections as is said, which carry one mail after the other', async () => {
    const a = await carrier();
    const provider = open(`smtp://127.0.0.1:${a.port}?tls=none`, { connections: 2 });
    for (let i = 0; i < 4; i++) await provider.handOver(many(10));
    expect(a.delivered).toHaveLength(40);
    expect(a.connections).toHaveLength(2);
  });
});

describe('a relay that encrypts', () => {
  const { key, cert, remove } = makeCertificate();
  afterAll(remove);

  const withTls = (options: SMTPServerOptions = {}) =>
    carrier({ key, cert, disabledCommands: ['AUTH'], ...options });
  const withLogin = () =>
    withTls({
      disabledCommands: [],
      onAuth: ({ username, password }, _session, done) =>
        username === 'ann' && password === 'p@ss,word'
          ? done(null, { user: 'ann' })
          : done(new Error('Wrong password')),
    });

  test('is used by STARTTLS and from the first byte', async () => {
    const seen: boolean[] = [];
    const options: SMTPServerOptions = {
      onMailFrom(_address, { secure }, callback) {
        seen.push(secure);
        callback();
      },
    };
    const [a, b] = [await withTls(options), await withTls({ ...options, secure: true })];
    const urls = [`smtp://127.0.0.1:${a.port}?tls=required`, `smtps://127.0.0.1:${b.port}`];
    for (const url of urls) {
      expect(await open(url, { ca: cert }).handOver([mail()])).toMatchObject([{ kind: 'accepted' }]);
    }
    expect(seen).toEqual([true, true]);
  });

  test('is not trusted with a certificate that nobody vouches for, if encryption is required', async () => {
    const a = await withTls();
    const required = open(`smtp://127.0.0.1:${a.port}?tls=required`);
    expect(await required.handOver([mail()])).toMatchObject([{ kind: 'account' }]);
    const opportunistic = open(`smtp://127.0.0.1:${a.port}?tls=opportunistic`);
    expect(await opportunistic.handOver([mail()])).toMatchObject([{ kind: 'accepted' }]);
    expect(a.delivered).toHaveLength(1);
  });

  test('that must encrypt and cannot is a matter for a person', async () => {
    const a = await carrier();
    const provider = open(`smtp://127.0.0.1:${a.port}?tls=required`);
    expect(await provider.handOver([mail()])).toMatchObject([{ kind: 'account' }]);
    expect(a.delivered).toEqual([]);
  });

  test('that refuses the log-in for its quota of the day pauses the account, and only the quota does for the moment', async () => {
    const says = (words: string) =>
      withTls({
        disabledCommands: [],
        onAuth: (_auth, _session, done) => done(Object.assign(new Error(words), { responseCode: 451 })),
      });
    const sendTo = async (words: string) =>
      open(`smtp://ann:secret@127.0.0.1:${(await says(words)).port}`, { ca: cert }).handOver([mail()]);
    expect(await sendTo('Authentication failed: Maximum credits exceeded')).toMatchObject([
      { kind: 'account', code: 'daily_quota' },
    ]);
    expect(await sendTo('Try again later')).toMatchObject([{ kind: 'transient', unreached: true }]);
  });

  test('is logged in to, and refuses a wrong password for everybody', async () => {
    const a = await withLogin();
    const right = open(`smtp://ann:p%40ss%2Cword@127.0.0.1:${a.port}`, { ca: cert });
    expect(await right.handOver([mail()])).toMatchObject([{ kind: 'accepted' }]);
    const wrong = open(`smtp://ann:guess@127.0.0.1:${a.port}`, { ca: cert });
    const [result] = await wrong.handOver([mail()]);
    expect(result).toMatchObject({ kind: 'account', code: expect.any(String) });
    expect(JSON.stringify(result)).not.toContain('guess');
  });

  test('a wrong password at one of two relays is not hidden by the other being away', async () => {
    const a = await withLogin();
    const urls = `smtp://ann:guess@127.0.0.1:${a.port},smtp://127.0.0.1:${await freePort()}?tls=none`;
    expect(await open(urls, { ca: cert }).handOver([mail()])).toMatchObject([{ kind: 'account' }]);
  });
});

describe('receivers that refuse a sender', () => {
  const refusing = (refuse: () => boolean) =>
    carrier({
      onRcptTo(_address, _session, callback) {
        callback(refuse() ? Object.assign(new Error('5.7.26 Unauthenticated'), { responseCode: 550 }) : null);
      },
    });

  test('stop the mail of its domain, and of no other, before its recipients are used up', async () => {
    const asked: string[] = [];
    const a = await carrier({
      onMailFrom({ address }, _session, callback) {
        asked.push(address);
        callback(
          address.endsWith('@bad.example')
            ? Object.assign(new Error('5.7.26 No'), { responseCode: 550 })
            : null,
        );
      },
    });
    const provider = open(`smtp://127.0.0.1:${a.port}?tls=none`, { connections: 1 });
    const results = await provider.handOver(many(8, { from: '"Bad" <news@bad.example>' }));
    expect(kinds(results)).toEqual([...Array(2).fill('transient'), ...Array(6).fill('throttled')]);
    expect(asked).toHaveLength(3);
    expect(await provider.handOver([mail({ from: 'other@bad.example' })])).toMatchObject([
      { kind: 'throttled' },
    ]);
    expect(await provider.handOver([mail()])).toMatchObject([{ kind: 'accepted' }]);
    expect(asked).toHaveLength(4);
  });

  test('are no reason to stop if others take its mail in between', async () => {
    let count = 0;
    const a = await refusing(() => ++count % 2 === 0);
    const provider = open(`smtp://127.0.0.1:${a.port}?tls=none`, { connections: 1 });
    const results = await provider.handOver(many(8));
    expect(kinds(results)).toEqual(Array(4).fill(['accepted', 'transient']).flat());
  });
});

describe("a recipient's host that wants less", () => {
  test('is left alone, and others are not', async () => {
    const a = await carrier();
    const provider = open(`smtp://127.0.0.1:${a.port}?tls=none`, { connections: 1 });
    const first = await provider.handOver(many(1, { to: 'throttle@slow.example' }));
    expect(first).toMatchObject([{ kind: 'throttled', scope: 'message' }]);
    const next = [...many(3, { to: 'ann@slow.example' }), ...many(3)];
    const results = await provider.handOver(next);
    expect(kinds(results)).toEqual([...Array(3).fill('throttled'), ...Array(3).fill('accepted')]);
    expect(a.delivered).toEqual(next.slice(3).map(({ id }) => id));
  });

  test('gets nothing more of those that were waiting for a connection when it said so', async () => {
    const asked: string[] = [];
    const a = await carrier({
      onRcptTo({ address }, _session, callback) {
        asked.push(address);
        callback(Object.assign(new Error('4.7.0 Slow down'), { responseCode: 421 }));
      },
    });
    const provider = open(`smtp://127.0.0.1:${a.port}?tls=none`, { connections: 1 });
    expect(new Set(kinds(await provider.handOver(many(8))))).toEqual(new Set(['throttled']));
    expect(asked).toHaveLength(1);
  });
});

test('a provider that closes leaves in doubt what a silent relay has, and the rest as it was', async () => {
  let has = 0;
  const a = await carrier({
    onData(stream) {
      stream.resume();
      stream.on('end', () => {
        has += 1;
      });
    },
  });
  const timeouts = { connectMs: 10_000, answerMs: 30_000 };
  const provider = open(`smtp://127.0.0.1:${a.port}?tls=none`, { connections: 1, timeouts });
  const results = provider.handOver(many(3));
  await until('the relay to have one', () => has === 1);
  await provider.close();
  expect(kinds(await results)).toEqual(['unknown', 'transient', 'transient']);
});
