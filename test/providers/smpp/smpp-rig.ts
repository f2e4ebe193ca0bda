import type { HandOver, HandOverResult, Provider } from '../../../src/providers/provider';
import { openSmppProvider, type SmppProviderOptions } from '../../../src/providers/smpp/smpp-provider';
import { type Smsc, type SmscOptions, startSmsc } from '../../support/smsc';
import { noInboundParts, noParts } from './no-parts';

/** Centres and providers that are closed after the test, the provider first. */
export const PERSON = '+12125550190';
export const LONG = 'x'.repeat(400);

let closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
});

export async function centre(options: SmscOptions = {}): Promise<Smsc> {
  const smsc = await startSmsc(options);
  closing.push(() => smsc.close());
  return smsc;
}

export function open(smsc: { url: string }, options: Partial<SmppProviderOptions> = {}): Provider {
  const provider = openSmppProvider({
    url: smsc.url,
    binds: 1,
    window: 50,
    messageId: 'auto',
    tlvs: {},
    parts: noParts,
    inboundParts: noInboundParts,
    times: { answerMs: 300, enquireMs: 30_000 },
    ...options,
  });
  closing.push(() => provider.close());
  return provider;
}

/** As many at once as there are, in batches as large as it takes. */
export async function handOverAll(
  provider: Provider,
  messages: readonly HandOver[],
): Promise<HandOverResult[]> {
  const { batchMax } = provider.capabilities;
  const batches = Array.from({ length: Math.ceil(messages.length / batchMax) }, (_, i) =>
    provider.handOver(messages.slice(i * batchMax, (i + 1) * batchMax)),
  );
  return (await Promise.all(batches)).flat();
}

let made = 0;
export const message = (text = 'Hello', to = PERSON, from = '12345'): HandOver => {
  const id = `msg_${++made}`;
  return { id, uid: id, channel: 'sms', to, from, text, attempt: 1 };
};
export const one = async (provider: Provider, sent: HandOver): Promise<HandOverResult | undefined> =>
  (await provider.handOver([sent]))[0];
