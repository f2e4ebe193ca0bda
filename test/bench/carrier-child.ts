import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

/**
 * A carrier that takes every message (docs/api.md, the HTTP provider; or the API of a vendor, by the path), in a process of its own,
 * forked. It reads
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
  const [, named] =
    (request.startsWith('POST / ') ? /"uid":"([^"]+)"/ : /(?:[?]|%3F)m(?:=|%3D)([\w-]+)/).exec(request) ?? [];
  counts.handOvers += 1;
  counts.lastAt = Date.now();
  counts.firstAt ||= counts.lastAt;
  seen.add(named ?? '');
  const body = bodyOf(request, `c${counts.handOvers}`);
  // Twilio's 201 and Vonage's 202 cost what this costs.
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const taken = { socket, answer: head + body };
  if (pace.answerMs === 0) socket.write(taken.answer, 'latin1');
  else if (atWork < pace.atOnce) work(taken);
  else waiting.push(taken);
}

/** Answers as long as the vendors' own, since reading them is part of what is measured. */
const ANSWERS = [
  {
    begin: 'POST /2010-04-01/',
    body: `{"account_sid":"AC0","api_version":"2010-04-01","body":"${'x'.repeat(80)}","date_created":"Thu, 24 Aug 2023 05:01:45 +0000","date_sent":null,"date_updated":"Thu, 24 Aug 2023 05:01:45 +0000","direction":"outbound-api","error_code":null,"error_message":null,"from":"+12025550100","num_media":"0","num_segments":"1","price":null,"price_unit":null,"messaging_service_sid":null,"sid":"SM<id>","status":"queued","subresource_uris":{"media":"/2010-04-01/Accounts/AC0/Messages/SM0/Media.json"},"to":"+12025550123","uri":"/2010-04-01/Accounts/AC0/Messages/SM0.json"}`,
  },
  {
    begin: 'POST /v2/messages',
    body: `{"data":{"record_type":"message","direction":"outbound","id":"<id>","type":"SMS","messaging_profile_id":"mp","from":{"phone_number":"+12025550100","carrier":"","line_type":""},"to":[{"phone_number":"+12025550123","status":"queued","carrier":"","line_type":""}],"text":"${'x'.repeat(80)}","media":[],"webhook_url":"https://fanfare.example/inbound","encoding":"GSM-7","parts":1,"tags":[],"cost":null,"received_at":"2026-11-22T10:15:00Z","sent_at":null,"completed_at":null,"valid_until":"2026-11-22T11:15:00Z","errors":[]}}`,
  },
  { begin: 'POST /v1/messages', body: '{"message_uuid":"<id>"}' },
  { begin: '', body: '{"id":"<id>"}' },
].map(({ begin, body }) => ({ begin, parts: body.split('<id>') as [string, string] }));

function bodyOf(request: string, id: string): string {
  const [before, after] = ANSWERS.find(({ begin }) => request.startsWith(begin))?.parts ?? ['', ''];
  return before + id + after;
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
