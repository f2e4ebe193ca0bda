import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inParallel } from '../../src/domain/in-parallel';
import type { HandOver } from '../../src/providers/provider';
import { newPdu, openLibrarySession, type Pdu } from '../../src/providers/smpp/library';
import { openSmppProvider } from '../../src/providers/smpp/smpp-provider';
import { ROOT } from '../support/root';
import { median, note, numberOption, rate, round2 } from './rig';

/**
 * The provider `smpp` against a bare loop over the `smpp` package, both with one session and the same window,
 * to the same centre in a process of its own. `--count N` messages of one part and `--rounds N` the size,
 * `--window N` the window.
 */
const COUNT_DEFAULT = 50_000;
const ROUNDS_DEFAULT = 3;
const WINDOW_DEFAULT = 50;
/** As the dispatcher hands over, each as large as the provider takes. */
const BATCHES_AT_ONCE = 4;
const TEXT = 'Your order 4711 is ready. It waits for you at the harbour until Friday, 18:00.';

export async function smppPart(): Promise<unknown> {
  const count = numberOption('--count') ?? COUNT_DEFAULT;
  const rounds = numberOption('--rounds') ?? ROUNDS_DEFAULT;
  const window = numberOption('--window') ?? WINDOW_DEFAULT;
  const child = spawn(process.execPath, [join(ROOT, 'dist/test/bench/smsc-child.js')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const port = Number(line);
    // Both have run before they are measured.
    await bareLoop(port, 2_000, window);
    await byProvider(port, 2_000, window);
    const results: { bare: number; provider: number }[] = [];
    for (let round = 0; round < rounds; round++) {
      note(`round ${round + 1} of ${rounds}: ${count} messages`);
      results.push({
        bare: rate(count, await bareLoop(port, count, window)),
        provider: rate(count, await byProvider(port, count, window)),
      });
    }
    return {
      count,
      window,
      barePerSecond: Math.round(median(results.map((one) => one.bare))),
      providerPerSecond: Math.round(median(results.map((one) => one.provider))),
      ratio: round2(median(results.map((one) => one.provider / one.bare))),
      ratios: results.map((one) => round2(one.provider / one.bare)),
    };
  } finally {
    child.kill();
  }
}

/** Milliseconds. As many unanswered as the window holds, nothing kept, nothing checked but the status. */
async function bareLoop(port: number, count: number, window: number): Promise<number> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  await once(socket, 'connect');
  const session = openLibrarySession(socket);
  session.send(newPdu('bind_transceiver', { system_id: 'bare', password: 'secret' }));
  await once(session, 'bind_transceiver_resp');
  const startedAt = performance.now();
  await new Promise<void>((done) => {
    let sent = 0;
    let answered = 0;
    const submit = (): void => {
      sent += 1;
      session.send(
        newPdu('submit_sm', {
          source_addr: '12345',
          destination_addr: destination(sent),
          short_message: TEXT,
          registered_delivery: 1,
        }),
      );
    };
    session.on('submit_sm_resp', (pdu: Pdu) => {
      if (pdu.command_status !== 0) throw new Error(`status ${pdu.command_status}`);
      answered += 1;
      if (sent < count) submit();
      else if (answered === count) done();
    });
    while (sent < Math.min(window, count)) submit();
  });
  const ms = performance.now() - startedAt;
  socket.destroy();
  return ms;
}

async function byProvider(port: number, count: number, window: number): Promise<number> {
  const provider = openSmppProvider({
    url: `smpp://bench:secret@127.0.0.1:${port}`,
    binds: 1,
    window,
    messageId: 'auto',
    tlvs: {},
    parts: {
      record: async () => undefined,
      resolve: async () => [],
      takeEarly: async () => undefined,
      settleLost: async () => undefined,
    },
    inboundParts: { keep: async () => undefined, takeWhole: async () => undefined },
  });
  // Bound by the time that the first is answered.
  await provider.handOver([messageOf(0)]);
  const { batchMax } = provider.capabilities;
  const batches = Array.from({ length: Math.ceil(count / batchMax) }, (_, batch) => batch * batchMax);
  const startedAt = performance.now();
  await inParallel(batches, BATCHES_AT_ONCE, async (from) => {
    const size = Math.min(batchMax, count - from);
    const results = await provider.handOver(Array.from({ length: size }, (_, i) => messageOf(from + i)));
    const other = results.find(({ kind }) => kind !== 'accepted');
    if (other) throw new Error(`a message was ${other.kind}`);
  });
  const ms = performance.now() - startedAt;
  await provider.close();
  return ms;
}

const destination = (n: number): string => `1212555${String(n % 10_000).padStart(4, '0')}`;

const messageOf = (n: number): HandOver => ({
  id: `msg_${n}`,
  uid: `bench.sms.${n}.1`,
  channel: 'sms',
  to: `+${destination(n)}`,
  from: '12345',
  text: TEXT,
  attempt: 1,
});
