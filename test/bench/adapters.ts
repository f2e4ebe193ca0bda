import { generateKeyPairSync } from 'node:crypto';
import { inParallel } from '../../src/domain/in-parallel';
import { LIMITS } from '../../src/domain/limits';
import { openHttpProvider } from '../../src/providers/http-provider';
import type { HandOver, Provider } from '../../src/providers/provider';
import { TELNYX } from '../../src/providers/telnyx/telnyx';
import { TWILIO } from '../../src/providers/twilio/twilio';
import type { Vendor, VendorAccount } from '../../src/providers/vendor/vendor';
import { VONAGE } from '../../src/providers/vonage/vonage';
import { AT_ONCE, Carrier } from './carrier';
import { median, note, numberOption, rate, round2 } from './rig';

/**
 * The adapters of vendors against the generic HTTP provider: the same SMS to the same carrier in a process of its own, by turns,
 * with as many requests at once as the vendors' adapters make. `--count N` messages a turn and `--rounds N` are the size.
 */
const COUNT_DEFAULT = 20_000;
const ROUNDS_DEFAULT = 5;
const WARM_UP = 3_000;
const TEXT = 'Your order 4711 is ready. It waits for you at the harbour until Friday, 18:00.';

type Open = (base: string) => Provider;

const privateKey = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string;

const vendor =
  ({ open }: Vendor, account: (base: string) => Pick<VendorAccount, 'settings' | 'secrets'>): Open =>
  (base) =>
    open({
      channel: 'sms',
      account: { id: 'acc_bench', ...account(base) },
      addresses: {
        callback: (id) => `https://fanfare.example/inbound/vendor/acc_bench?m=${id}`,
        document: (path) => `https://fanfare.example/calls/${path}`,
      },
    });

const ADAPTERS: Record<string, Open> = {
  http: (url) => openHttpProvider({ channel: 'sms', url, idempotent: false }),
  twilio: vendor(TWILIO, (url) => ({
    settings: { accountSid: `AC${'0'.repeat(32)}`, url },
    secrets: { authToken: 'token' },
  })),
  telnyx: vendor(TELNYX, (url) => ({ settings: { url: `${url}v2` }, secrets: { apiKey: 'key' } })),
  vonage: vendor(VONAGE, (url) => ({
    settings: { applicationId: 'application', url },
    secrets: { privateKey: privateKey(), signatureSecret: 'secret' },
  })),
};

export async function adaptersPart(): Promise<unknown> {
  const count = numberOption('--count') ?? COUNT_DEFAULT;
  const rounds = numberOption('--rounds') ?? ROUNDS_DEFAULT;
  const names = Object.keys(ADAPTERS);
  const carrier = await Carrier.start();
  const providers = new Map(names.map((name) => [name, (ADAPTERS[name] as Open)(carrier.url)]));
  try {
    for (const provider of providers.values()) await byProvider(carrier, provider, WARM_UP);
    const results: Record<string, Turn>[] = [];
    for (let round = 0; round < rounds; round++) {
      note(`round ${round + 1} of ${rounds}: ${count} messages by each`);
      const result: Record<string, Turn> = {};
      // Each is the first of its round as often as the others, as far as the rounds go.
      for (const name of [...names.slice(round % names.length), ...names.slice(0, round % names.length)]) {
        result[name] = await byProvider(carrier, providers.get(name) as Provider, count);
      }
      results.push(result);
    }
    return { count, ...summary(names, count, results) };
  } finally {
    for (const provider of providers.values()) await provider.close();
    carrier.stop();
  }
}

interface Turn {
  ms: number;
  /** Microseconds of our process for each message, which another program on the machine changes less than the rate. */
  cpu: number;
}

async function byProvider(carrier: Carrier, provider: Provider, count: number): Promise<Turn> {
  await carrier.begin(AT_ONCE);
  const messages = Array.from({ length: count }, (_, n) => messageOf(n));
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  await inParallel(messages, LIMITS.vendorConnections, async (message) => {
    const [result] = await provider.handOver([message]);
    if (result?.kind !== 'accepted') throw new Error(`a message was ${result?.kind} by ${provider.name}`);
  });
  const ms = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  const { handOvers, messages: different } = await carrier.look();
  if (handOvers !== count || different !== count) {
    throw new Error(`${provider.name}: the carrier has ${different} of ${count}, in ${handOvers} requests`);
  }
  return { ms, cpu: (user + system) / count };
}

function summary(names: readonly string[], count: number, results: readonly Record<string, Turn>[]) {
  const of = (name: string) => results.map((result) => result[name] as Turn);
  return Object.fromEntries(
    names.map((name) => {
      const ratios = of(name).map(({ ms }, i) => round2((of('http')[i]?.ms ?? Number.NaN) / ms));
      const perSecond = Math.round(median(of(name).map(({ ms }) => rate(count, ms))));
      const cpuMicros = round2(median(of(name).map(({ cpu }) => cpu)));
      return [name, { perSecond, ratio: round2(median(ratios)), ratios, cpuMicros }];
    }),
  );
}

const messageOf = (n: number): HandOver => ({
  ...{ id: `msg_bench${n}`, uid: `bench.sms.${n}.1`, channel: 'sms', attempt: 1, text: TEXT },
  ...{ to: `+1202555${String(n % 10_000).padStart(4, '0')}`, from: '+12025550100' },
});
