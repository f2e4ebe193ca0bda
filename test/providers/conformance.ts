import { readdirSync } from 'node:fs';
import type { Channel } from '../../src/domain/channel';
import { RECEIPT_STATE } from '../../src/domain/message';
import type { HandOver, HandOverResult, Provider, Receipt } from '../../src/providers/provider';
import { until } from '../support/until';

/** A carrier, and the way to open our provider on it; each test has one of its own. */
export interface Rig {
  /** The same carrier at every call: what it was given before, it still has. */
  open(): Promise<Provider>;
  /** The ids that reached a person, as the carrier itself tells: one entry each time. */
  delivered(): Promise<string[]> | string[];
  close(): Promise<void>;
}

export interface ConformanceOptions {
  channel: Channel;
  /** Addresses for each answer the carrier can be made to give; `accepted` ones also get receipts. */
  addresses: { accepted: string } & Partial<
    Record<'rejected' | 'transient' | 'throttled' | 'account', string>
  > & {
      /** The message is delivered, its answer lost. */
      lost?: string;
    };
}

/**
 * What the outbox relies on, for every provider alike: call it in a test file with a way to build a
 * carrier for one test. What a provider declares in its capabilities is held against what it does.
 */
export function providerConformance(
  name: string,
  createRig: () => Promise<Rig>,
  { channel, addresses }: ConformanceOptions,
): void {
  describe(`${name} as a provider`, () => {
    let rig: Rig;
    let opened: Provider[];

    beforeEach(async () => {
      opened = [];
      rig = await createRig();
    });
    afterEach(async () => {
      await Promise.all(opened.map((provider) => provider.close()));
      await rig.close();
    });

    async function open(): Promise<Provider> {
      const provider = await rig.open();
      opened.push(provider);
      return provider;
    }

    test('it says which channel it serves and what it can do', async () => {
      const provider = await open();
      expect(provider.channel).toBe(channel);
      expect(provider.name).toMatch(/^[a-z][a-z0-9-]*$/);
      expect(provider.capabilities.batchMax).toBeGreaterThan(0);
      expect(provider.capabilities.parallel).toBeGreaterThan(0);
    });

    test('each message of a batch has its result, in order', async () => {
      const provider = await open();
      const tos = Array.from({ length: Math.min(20, provider.capabilities.batchMax) }, (_, i) =>
        i % 3 === 1 && addresses.rejected ? addresses.rejected : addresses.accepted,
      );
      const results = await provider.handOver(tos.map((to) => message(to)));
      const expected = tos.map((to) => (to === addresses.accepted ? 'accepted' : 'rejected'));
      expect(results.map((result) => result.kind)).toEqual(expected);
    });

    test('a message that is not to leave any more stays, and the others leave', async () => {
      const provider = await open();
      const [first, held, last] = Array.from({ length: 3 }, () => message(addresses.accepted));
      const batch = [first, held, last] as [HandOver, HandOver, HandOver];
      const results = await provider.handOver(batch, ({ id }) => id !== batch[1].id);
      expect(results.map((result) => result.kind)).toEqual(['accepted', 'stayed', 'accepted']);
      expect(sorted(await rig.delivered())).toEqual(sorted([batch[0].id, batch[2].id]));
      expect((await provider.handOver([batch[1]])).map((result) => result.kind)).toEqual(['accepted']);
    });

    test('an empty batch has no results', async () => {
      expect(await (await open()).handOver([])).toEqual([]);
    });

    test('the largest batch is taken whole, a larger one not at all', async () => {
      const provider = await open();
      const { batchMax } = provider.capabilities;
      const largest = Array.from({ length: batchMax }, () => message(addresses.accepted));
      const results = await provider.handOver(largest);
      expect(new Set(results.map((result) => result.kind))).toEqual(new Set(['accepted']));
      const tooLarge = Array.from({ length: batchMax + 1 }, () => message(addresses.accepted));
      await expect(provider.handOver(tooLarge)).rejects.toThrow(RangeError);
      const ids = largest.map(({ id }) => id);
      expect(sorted(await rig.delivered())).toEqual(sorted(ids));
    });

    test('an accepted message has a provider id of its own', async () => {
      const provider = await open();
      const results = await provider.handOver([message(addresses.accepted), message(addresses.accepted)]);
      const providerIds = results.map(providerIdOf);
      expect(new Set(providerIds).size).toBe(2);
    });

    for (const kind of ['rejected', 'transient', 'throttled', 'account'] as const) {
      const address = addresses[kind];
      if (!address) continue;
      test(`a message can be ${kind}, and then reaches nobody`, async () => {
        const provider = await open();
        const [refused, other] = [message(address), message(addresses.accepted)];
        const results = await provider.handOver([refused, other]);
        expect(results[0]).toMatchObject(SHAPES[kind]);
        expect(await rig.delivered()).not.toContain(refused.id);
      });
    }

    const lost = addresses.lost;
    if (lost) {
      test('a message whose answer is lost is delivered at most once as declared', async () => {
        const provider = await open();
        const sent = message(lost);
        const [first] = await provider.handOver([sent]);
        expect(['unknown', 'transient']).toContain(first?.kind);
        // Only a carrier that knows the id may be asked again; that is what the capability is for.
        if (!provider.capabilities.idempotent) expect(first?.kind).toBe('unknown');
        else expect(await untilAccepted(provider, sent)).toMatch(/./);
        expect(await rig.delivered()).toEqual([sent.id]);
      });
    }

    test('handing over the same message again keeps to the declared idempotency', async () => {
      const provider = await open();
      const sent = message(addresses.accepted);
      const again = { ...sent, attempt: 2 };
      const results = [
        ...(await provider.handOver([sent])),
        ...(await Promise.all([provider.handOver([again]), provider.handOver([again])])).flat(),
      ];
      await provider.close();
      results.push(...(await (await open()).handOver([again])));
      const providerIds = new Set(results.map(providerIdOf));
      const times = (await rig.delivered()).length;
      expect([times, providerIds.size]).toEqual(
        provider.capabilities.idempotent ? [1, 1] : [4, providerIds.size],
      );
    });

    test('receipts reach the sink and name their message', async () => {
      const provider = await open();
      if (!provider.capabilities.receipts) return;
      const received: Receipt[] = [];
      await provider.start(async (receipts) => void received.push(...receipts));
      const sent = message(addresses.accepted);
      const [result] = await provider.handOver([sent]);
      await untilEnd(received, sent, result);
      for (const receipt of received) {
        expect(isAbout(receipt, sent, result)).toBe(true);
        expect(RECEIPT_STATE).toHaveProperty(receipt.type);
        if (receipt.at !== undefined) expect(new Date(receipt.at).toISOString()).toBe(receipt.at);
      }
    });

    test('receipts that the sink did not take are told again', async () => {
      const provider = await open();
      if (!provider.capabilities.receipts) return;
      const received: Receipt[] = [];
      let refused = 0;
      await provider.start(async (receipts) => {
        if (refused++ < 2) throw new Error('the database is away');
        received.push(...receipts);
      });
      const sent = message(addresses.accepted);
      const [result] = await provider.handOver([sent]);
      await untilEnd(received, sent, result);
      expect(refused).toBeGreaterThan(2);
    });

    test('receipts still owed arrive after closing and opening again', async () => {
      const provider = await open();
      if (!provider.capabilities.receipts) return;
      await provider.start(async () => {
        throw new Error('the database is away');
      });
      const sent = message(addresses.accepted);
      const [result] = await provider.handOver([sent]);
      await provider.close();
      const received: Receipt[] = [];
      await (await open()).start(async (receipts) => void received.push(...receipts));
      await untilEnd(received, sent, result);
    });

    test('closing waits for a sink call under way and lets no other follow', async () => {
      const provider = await open();
      if (!provider.capabilities.receipts) return;
      let calls = 0;
      let running = 0;
      let release: () => void = () => undefined;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      await provider.start(async () => {
        calls++;
        running++;
        await held;
        running--;
      });
      await provider.handOver([message(addresses.accepted)]);
      await until('a sink call', () => calls === 1);
      const closed = provider.close();
      release();
      await closed;
      expect([calls, running]).toEqual([1, 0]);
    });

    test('a closed provider takes nothing', async () => {
      const provider = await open();
      await provider.close();
      await provider.close();
      const late = message(addresses.accepted);
      const [result] = await provider.handOver([late]);
      expect(result?.kind).toBe('transient');
      expect(await rig.delivered()).not.toContain(late.id);
    });

    test('opening and closing again and again holds on to nothing', async () => {
      async function openOnce(): Promise<void> {
        const provider = await open();
        await provider.start(async () => undefined);
        await provider.handOver([message(addresses.accepted)]);
        await provider.close();
      }
      // The first use also opens what the runtime keeps for good.
      await openOnce();
      const before = heldResources();
      // What the suite and the runtime hold themselves comes and goes by a timer or two; what a provider leaves
      // behind grows with each opening.
      const openings = 5;
      for (let times = 0; times < openings; times++) await openOnce();
      await until(`nothing more for each opening to be held beside ${JSON.stringify(before)}`, () => {
        const now = Object.entries(heldResources());
        return now.every(([kind, count]) => count - (before[kind] ?? 0) < openings);
      });
    });

    let made = 0;
    function message(to: string): HandOver {
      const id = `msg_${process.pid}_${Date.now()}_${made++}`;
      const content = {
        email: { subject: 'Hello', html: '<p>Hello</p>', text: 'Hello' },
        sms: { text: 'Hello' },
      };
      const body = channel === 'voice' ? { xml: '<Response><Say>Hello</Say></Response>' } : content[channel];
      const from = channel === 'email' ? 'sender@example.com' : '+12125550100';
      return { id, uid: `conformance.${id}`, channel, to, from, attempt: 1, ...body };
    }
  });
}

const SHAPES = {
  rejected: { kind: 'rejected', code: expect.stringMatching(/./), message: expect.stringMatching(/./) },
  transient: { kind: 'transient', code: expect.stringMatching(/./) },
  throttled: { kind: 'throttled', retryAfterMs: expect.any(Number) },
  account: { kind: 'account', code: expect.stringMatching(/./), message: expect.stringMatching(/./) },
};

function providerIdOf(result: HandOverResult | undefined): string {
  if (result?.kind !== 'accepted') throw new Error(`not accepted but ${JSON.stringify(result)}`);
  return result.providerId;
}

async function untilAccepted(provider: Provider, sent: HandOver): Promise<string> {
  let attempt = 1;
  const [result] = await until('the carrier to own up to the message', async () => {
    const results = await provider.handOver([{ ...sent, attempt: ++attempt }]);
    return results[0]?.kind === 'accepted' ? results : undefined;
  });
  return providerIdOf(result);
}

function isAbout(receipt: Receipt, sent: HandOver, result: HandOverResult | undefined): boolean {
  if (receipt.id !== undefined) return receipt.id === sent.id;
  return result?.kind === 'accepted' && receipt.providerId === result.providerId;
}

async function untilEnd(
  received: Receipt[],
  sent: HandOver,
  result: HandOverResult | undefined,
): Promise<void> {
  await until('the receipt that ends the message', () =>
    received.some((receipt) => isAbout(receipt, sent, result) && RECEIPT_STATE[receipt.type]),
  );
}

/** Timers, sockets and files in use by this process. */
function heldResources(): Record<string, number> {
  const counts: Record<string, number> = { files: openFiles() };
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}

const sorted = (ids: string[]): string[] => [...ids].sort();
