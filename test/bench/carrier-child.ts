import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

/**
 * A carrier that takes every message (docs/api.md, the HTTP provider), in a process of its own, forked. It reads
 * HTTP by hand, because Node's own server would cost more than what is measured. Its record is the truth: which
 * `uid` was given how often. Told `look` it answers with what it has counted; told how to answer it begins anew.
 */
export interface CarrierCounts {
  handOvers: number;
  /** Different messages. */
  messages: number;
  /** Milliseconds since the epoch. */
  firstAt: number;
  lastAt: number;
}

/** How long each message takes, and how many are worked on at once; further ones wait for their turn. */
export interface CarrierPace {
  answerMs: number;
  atOnce: number;
}

interface Request {
  socket: Socket;
  answer: string;
}

const seen = new Set<string>();
const counts = { handOvers: 0, firstAt: 0, lastAt: 0 };
let pace: CarrierPace = { answerMs: 0, atOnce: Number.POSITIVE_INFINITY };
let atWork = 0;
const waiting: Request[] = [];

const server = createServer((socket) => {
  let rest = '';
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    rest += chunk.toString('latin1');
    for (let end = endOfRequest(rest); end > 0; end = endOfRequest(rest)) {
      take(socket, rest.slice(0, end));
      rest = rest.slice(end);
    }
  });
});

/** Where the first request ends, or 0 while a part of it is missing. */
function endOfRequest(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return 0;
  const length = /^content-length: (\d+)/im.exec(text.slice(0, head))?.[1];
  const end = head + 4 + Number(length ?? 0);
  return text.length >= end ? end : 0;
}

function take(socket: Socket, request: string): void {
  const uid = /"uid":"([^"]+)"/.exec(request)?.[1] ?? '';
  counts.handOvers += 1;
  counts.lastAt = Date.now();
  counts.firstAt ||= counts.lastAt;
  seen.add(uid);
  const body = `{"id":"c${counts.handOvers}"}`;
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const taken = { socket, answer: head + body };
  if (pace.answerMs === 0) socket.write(taken.answer, 'latin1');
  else if (atWork < pace.atOnce) work(taken);
  else waiting.push(taken);
}

function work({ socket, answer }: Request): void {
  atWork += 1;
  setTimeout(() => {
    atWork -= 1;
    socket.write(answer, 'latin1');
    const next = waiting.shift();
    if (next) work(next);
  }, pace.answerMs);
}

process.on('message', (message: 'look' | CarrierPace) => {
  if (message !== 'look') {
    pace = message;
    seen.clear();
    Object.assign(counts, { handOvers: 0, firstAt: 0, lastAt: 0 });
  }
  process.send?.({ ...counts, messages: seen.size } satisfies CarrierCounts);
});
process.once('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
