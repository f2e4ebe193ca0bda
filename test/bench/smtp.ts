import { generateKeyPairSync } from 'node:crypto';
import { createTransport } from 'nodemailer';
import { parseSmtpRelays } from '../../src/domain/smtp-relays';
import { createLog } from '../../src/log';
import type { HandOver } from '../../src/providers/provider';
import { openSmtpProvider } from '../../src/providers/smtp/smtp-provider';
import { startSmtpSink } from '../support/smtp-sink';
import { median, note, numberOption, rate, round2 } from './rig';

/**
 * Mail by SMTP: our provider's hand-overs against nodemailer's own pooled loop, to the same smtp-sink in the
 * same run, with and without DKIM (RSA of 2,048 bits). Each message is HTML of some ten kilobytes and a text.
 * `--count N` messages a round, `--rounds N` rounds, `--connections N` of both.
 */
const COUNT_DEFAULT = 20_000;
const ROUNDS_DEFAULT = 3;
/** As the dispatcher has it. */
const BATCHES_AT_ONCE = 4;

export async function smtpPart(): Promise<unknown> {
  const count = numberOption('--count') ?? COUNT_DEFAULT;
  const rounds = numberOption('--rounds') ?? ROUNDS_DEFAULT;
  const connections = numberOption('--connections') ?? 5;
  const sink = await startSmtpSink([], { keep: false });
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  try {
    const results: Record<string, unknown> = { count, connections };
    for (const signed of [false, true]) {
      const dkim = signed ? { domain: 'example.org', selector: 'bench', privateKey: key } : undefined;
      const figures: { theirs: number; ours: number }[] = [];
      for (let i = 0; i < rounds; i++) {
        note(`round ${i + 1} of ${rounds}, ${signed ? 'signed' : 'unsigned'}`);
        const theirs = await nodemailerRound({ port: sink.port, count, connections, dkim });
        const ours = await ourRound({ url: sink.url, count, connections, dkim });
        figures.push({ theirs, ours });
      }
      results[signed ? 'signed' : 'unsigned'] = {
        nodemailerPerSecond: Math.round(median(figures.map((one) => one.theirs))),
        oursPerSecond: Math.round(median(figures.map((one) => one.ours))),
        ratio: round2(median(figures.map(({ ours, theirs }) => ours / theirs))),
        ratios: figures.map(({ ours, theirs }) => round2(ours / theirs)),
      };
    }
    return results;
  } finally {
    await sink.stop();
  }
}

interface Round {
  count: number;
  connections: number;
  dkim: { domain: string; selector: string; privateKey: string } | undefined;
}

/** As its documentation has it for bulk mail: as many messages as it likes to have, and not one more. */
async function nodemailerRound({ port, count, connections, dkim }: Round & { port: number }) {
  const pool = createTransport({
    pool: true,
    host: '127.0.0.1',
    port,
    ignoreTLS: true,
    maxConnections: connections,
    maxMessages: Number.POSITIVE_INFINITY,
    ...(dkim && {
      dkim: { domainName: dkim.domain, keySelector: dkim.selector, privateKey: dkim.privateKey },
    }),
  });
  const startedAt = performance.now();
  let next = 0;
  const sendOn = async () => {
    while (next < count) {
      const { id, from, to, subject, html, text } = message(next++);
      await pool.sendMail({ messageId: `<${id}@example.org>`, from, to, subject, html, text });
    }
  };
  await Promise.all(Array.from({ length: connections * 2 }, sendOn));
  const perSecond = rate(count, performance.now() - startedAt);
  pool.close();
  return perSecond;
}

async function ourRound({ url, count, connections, dkim }: Round & { url: string }): Promise<number> {
  const relays = parseSmtpRelays(url);
  if (typeof relays === 'string') throw new Error(relays);
  const provider = openSmtpProvider({ relays, connections, dkim, log: createLog('warn') });
  const startedAt = performance.now();
  let next = 0;
  const sendOn = async () => {
    while (next < count) {
      const size = Math.min(provider.capabilities.batchMax, count - next);
      const batch = Array.from({ length: size }, () => message(next++));
      const results = await provider.handOver(batch);
      const refused = results.find(({ kind }) => kind !== 'accepted');
      if (refused) throw new Error(`not accepted: ${JSON.stringify(refused)}`);
    }
  };
  await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, sendOn));
  const perSecond = rate(count, performance.now() - startedAt);
  await provider.close();
  return perSecond;
}

const PARAGRAPH = '<p style="margin:0 0 16px">Grüße, and thank you for being with us this year.</p>\n';
const HTML = `<!doctype html><html><body>${PARAGRAPH.repeat(120)}</body></html>`;
const TEXT = 'Grüße, and thank you for being with us this year.\n'.repeat(20);

function message(n: number): HandOver {
  return {
    id: `msg_bench_${n}`,
    uid: `bench-${n}`,
    channel: 'email',
    to: `person${n}@example.com`,
    from: '"Example News" <news@example.org>',
    subject: `Number ${n}`,
    html: HTML,
    text: TEXT,
    attempt: 1,
  };
}
