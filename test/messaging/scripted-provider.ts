import type { Channel } from '../../src/domain/channel';
import {
  anyMayLeave,
  type HandOver,
  type HandOverResult,
  type MayLeave,
  type Provider,
  type Receipt,
  type ReceiptSink,
} from '../../src/providers/provider';

type Script = (message: HandOver, mayLeave: MayLeave) => HandOverResult | Promise<HandOverResult>;

/** The outside world for tests of the outbox: does with each message what the test says, and remembers. */
export class ScriptedProvider implements Provider {
  readonly name: string;
  readonly channel: Channel;
  readonly capabilities: Provider['capabilities'];
  /** Every message it was given, in order, as often as it was. */
  readonly taken: HandOver[] = [];
  readonly batches: string[][] = [];
  script: Script = (message) => ({ kind: 'accepted', providerId: `p:${message.id}` });
  private readonly hung: ((result: HandOverResult) => void)[] = [];
  private sink: ReceiptSink | undefined;

  constructor(channel: Channel, capabilities: Partial<Provider['capabilities']> = {}, name = 'scripted') {
    this.name = name;
    this.channel = channel;
    this.capabilities = { idempotent: false, receipts: true, batchMax: 500, parallel: 500, ...capabilities };
  }

  async start(sink: ReceiptSink): Promise<void> {
    this.sink = sink;
  }

  handOver(messages: readonly HandOver[], mayLeave: MayLeave = anyMayLeave): Promise<HandOverResult[]> {
    this.taken.push(...messages);
    this.batches.push(messages.map((message) => message.uid));
    return Promise.all(messages.map((message) => this.script(message, mayLeave)));
  }

  async close(): Promise<void> {}

  async report(...receipts: Receipt[]): Promise<void> {
    if (!this.sink) throw new Error('The provider was not started');
    await this.sink(receipts);
  }

  /** A script that does not answer, until the test is over. */
  readonly hang = (): Promise<HandOverResult> => new Promise((answer) => this.hung.push(answer));

  release(result: HandOverResult = { kind: 'unknown' }): void {
    for (const answer of this.hung.splice(0)) answer(result);
  }

  /** In the order in which the hung ones came. */
  releaseEach(results: readonly HandOverResult[]): void {
    for (const [i, answer] of this.hung.splice(0).entries()) answer(results[i] ?? { kind: 'unknown' });
  }

  uids(): string[] {
    return this.taken.map((message) => message.uid);
  }
}
