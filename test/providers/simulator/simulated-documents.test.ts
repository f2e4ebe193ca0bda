import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LIMITS } from '../../../src/domain/limits';
import { createCallDocuments } from '../../../src/messaging/call-documents';
import { createTargetGuard } from '../../../src/messaging/webhooks/target-guard';
import type { HandOver, Receipt } from '../../../src/providers/provider';
import type { SimulatorOptions } from '../../../src/providers/simulator/simulator';
import { until } from '../../support/until';
import { simulators } from './simulators';

const { open } = simulators();

/** What the server answers with, by path; `undefined` for never. */
type Pages = Record<string, string | undefined>;

let server: Server;
let origin: string;
let pages: Pages;
let asked: { path: string; fields: Record<string, string> }[];

beforeEach(async () => {
  asked = [];
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url ?? '';
    asked.push({ path, fields: Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString())) });
    if (!(path in pages)) response.writeHead(404).end();
    else if (pages[path] !== undefined) response.end(`<Response>${pages[path]}</Response>`);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

const ENDS = ['completed', 'no_answer', 'failed', 'busy', 'rejected'];

/** The receipts of one call of a document until its end. */
async function call(
  last: string,
  inner: string,
  rest: Partial<HandOver> = {},
  options: Partial<SimulatorOptions> = {},
) {
  const documents = createCallDocuments(createTargetGuard({ allowPrivate: true }), 400);
  const simulator = await open({ channel: 'voice', documents, ...options });
  const receipts: Receipt[] = [];
  await simulator.start(async (more) => void receipts.push(...more));
  const message: HandOver = {
    id: `msg_${last}`,
    uid: `run.${last}.1`,
    channel: 'voice',
    to: `+121255501${last}`,
    from: '+12125550100',
    xml: `<Response>${inner}</Response>`,
    attempt: 1,
    ...rest,
  };
  await simulator.handOver([message]);
  await until('the end of the call', () => receipts.some(({ type }) => ENDS.includes(type)));
  const end = receipts.find(({ type }) => ENDS.includes(type)) as Receipt & { data: Record<string, unknown> };
  return { receipts, end, simulator, message };
}

test('a call goes on with the document that a redirection leads to', async () => {
  pages = {
    '/a': '<Say history="full">Second.</Say><Redirect>b?x=y</Redirect>',
    '/b?x=y': '<Say history="full">Third.</Say>',
  };
  const { end } = await call('90', `<Say history="full">First.</Say><Redirect>${origin}/a</Redirect>`);
  expect(end).toMatchObject({ type: 'completed', data: { reason: 'finished', outcome: 'human' } });
  expect(end.data.said).toEqual(['First.', 'Second.', 'Third.'].map((text) => ({ verb: 'Say', text })));
  expect(end.data.documents).toEqual([`${origin}/a`, `${origin}/b`]);
  expect(asked).toEqual([
    { path: '/a', fields: { CallSid: 'msg_90', CallStatus: 'in-progress', AnsweredBy: 'human' } },
    { path: '/b?x=y', fields: { CallSid: 'msg_90', CallStatus: 'in-progress', AnsweredBy: 'human' } },
  ]);
});

test('what was entered is told to the action, and the key that it asks for is pressed there', async () => {
  pages = {
    '/menu': '<Gather numDigits="1" output="stop" optOutDigits="7"><Say>Seven to stop.</Say></Gather>',
  };
  const { receipts } = await call(
    '85',
    `<Gather numDigits="1" action="${origin}/menu"><Say>Any key.</Say></Gather>`,
  );
  expect(asked.map(({ fields }) => fields.Digits)).toEqual(['9']);
  const digits = receipts.filter(({ type }) => type === 'digits').map(({ data }) => data);
  expect(digits).toEqual([{ digits: '9' }, { gather: 'stop', digits: '7', optedOut: true, document: 1 }]);
});

test('two documents that lead to each other come to an end', async () => {
  pages = { '/a': `<Redirect>/b</Redirect>`, '/b': '<Redirect>/a</Redirect>' };
  const { end } = await call('90', `<Redirect>${origin}/a</Redirect>`);
  expect(end).toMatchObject({ type: 'completed', data: { reason: 'too_many_documents' } });
  expect(asked).toHaveLength(LIMITS.callDocuments);
});

test('one that is not there fails the call, one that never comes as well, and the callee has waited for it', async () => {
  pages = { '/silent': undefined };
  const missing = await call('90', `<Redirect>${origin}/missing</Redirect>`, { id: 'a' });
  expect(missing.end).toMatchObject({ type: 'failed', code: 'document_404', data: { reason: 'problem' } });
  const silent = await call('90', `<Redirect>${origin}/silent</Redirect>`, { id: 'b' });
  expect(silent.end).toMatchObject({ type: 'failed', code: 'document_timeout' });
  expect(silent.end.data.durationMs).toBeGreaterThan(LIMITS.callDocumentMs);
});

test('nothing is asked for a call that nobody answers, or that was taken before', async () => {
  pages = { '/a': '<Hangup/>' };
  const redirect = `<Redirect>${origin}/a</Redirect>`;
  await call('94', redirect);
  expect(asked).toEqual([]);
  const { simulator, message } = await call('90', redirect);
  await simulator.handOver([message]);
  expect(asked).toHaveLength(1);
});

test('a call that is made again with the same documents is the same call', async () => {
  pages = { '/a': '<Say>Second.</Say>' };
  const inner = `<Say>First.</Say><Redirect>${origin}/a</Redirect>`;
  const { simulator, message, receipts, end } = await call('90', inner, {}, { idempotent: false });
  await simulator.handOver([message]);
  const ends = () => receipts.filter(({ type }) => type === 'completed');
  await until('the second end', () => ends().length === 2);
  expect(ends()[1]?.data).toEqual(end.data);
  expect(asked).toHaveLength(2);
});
