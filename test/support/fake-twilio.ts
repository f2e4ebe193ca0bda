import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks';

/**
 * Twilio as its documents describe it, as far as Fanfare uses it: Messages and Calls, callbacks signed by the function of
 * the vendor's own SDK. `To` decides how a create is answered. Nothing of Fanfare's own code is used here.
 */
export interface FakeTwilio {
  url: string;
  account: { accountSid: string; authToken: string };
  messages: FakeMessage[];
  calls: FakeCall[];
  /** Every request as it came, oldest first. */
  requests: { method: string; path: string; headers: IncomingMessage['headers']; form: URLSearchParams }[];
  /** How the next creates are answered, before `To` is looked at. */
  answerWith(answer: FakeAnswer | undefined): void;
  /** Tells the status of a message, as often as needed until it is taken; answers the statuses of each try. */
  tell(message: FakeMessage, status: string, more?: Record<string, string>): Promise<number>;
  /** A signed request, to any address of ours. */
  post(url: string, fields: Record<string, string>, options?: PostOptions): Promise<FakeReply>;
  close(): Promise<void>;
}

export type FakeAnswer =
  | { status: number; body: unknown; headers?: Record<string, string>; taken?: boolean }
  /** The message is taken, and the connection dropped before the answer. */
  | 'lost'
  /** It is taken, and the answer does not come. */
  | 'held'
  /** A callback is sent and answered before the create is. */
  | 'callback first';

export interface FakeMessage {
  sid: string;
  form: URLSearchParams;
  status: string;
  createdAt: Date;
}

export interface FakeCall extends FakeMessage {
  updates: URLSearchParams[];
}

export interface PostOptions {
  token?: string;
  /** `none` leaves it out; another text is sent in its place. */
  signature?: string;
  header?: string;
}

export interface FakeReply {
  status: number;
  type: string;
  text: string;
}

export interface FakeTwilioOptions {
  /** Messages are delivered, and this is told, by themselves. */
  delivers?: boolean;
  /** In front of Twilio's paths, as services with its API have it. */
  prefix?: string;
  header?: string;
}

/** Reserved numbers of ours; each is answered as its name says. */
export const TO = {
  invalid: '+15005550001',
  down: '+15005550003',
  throttled: '+15005550004',
  refused: '+15005550005',
  lost: '+15005550006',
} as const;

const error = (status: number, code: number, message: string): FakeAnswer => ({
  status,
  body: { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status },
});

const BY_NUMBER: Record<string, FakeAnswer> = {
  [TO.invalid]: error(400, 21211, "The 'To' number is not a valid phone number."),
  [TO.down]: error(503, 20503, 'Service Unavailable'),
  [TO.throttled]: error(429, 20429, 'Too Many Requests'),
  [TO.refused]: error(401, 20003, 'Authenticate'),
  [TO.lost]: 'lost',
};

export async function startFakeTwilio(options: FakeTwilioOptions = {}): Promise<FakeTwilio> {
  const { delivers = false, prefix = '', header = 'x-twilio-signature' } = options;
  const account = { accountSid: `AC${hex(32)}`, authToken: hex(32) };
  const messages: FakeMessage[] = [];
  const calls: FakeCall[] = [];
  const requests: FakeTwilio['requests'] = [];
  const telling = new Set<Promise<unknown>>();
  let planned: FakeAnswer | undefined;
  let closed = false;
  const base = `${prefix}/2010-04-01/Accounts/${account.accountSid}`;

  const server = createServer((incoming, response) => {
    void textOf(incoming).then((text) => handle(incoming, text, response));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));

  async function handle(incoming: IncomingMessage, text: string, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = incoming;
    const { pathname, searchParams } = new URL(url, 'http://twilio');
    const form = new URLSearchParams(text);
    requests.push({ method, path: url, headers: incoming.headers, form });
    if (!isOurs(incoming)) return send(response, error(401, 20003, 'Authenticate'));
    const path = pathname.startsWith(base) ? pathname.slice(base.length) : undefined;
    if (path === '.json')
      return send(response, { status: 200, body: { sid: account.accountSid, status: 'active' } });
    const list = path?.startsWith('/Calls') ? calls : messages;
    if (path === '/Messages.json' || path === '/Calls.json') {
      if (method === 'GET') return send(response, { status: 200, body: listed(path, list, searchParams) });
      return create(path, form, incoming, response);
    }
    const one = list.find(({ sid }) => path === `/Messages/${sid}.json` || path === `/Calls/${sid}.json`);
    if (!one) return send(response, error(404, 20404, `The requested resource ${pathname} was not found`));
    if (method === 'POST') update(one, form);
    return send(response, { status: 200, body: shown(one) });
  }

  function isOurs({ headers }: IncomingMessage): boolean {
    const given = Buffer.from(String(headers.authorization).replace('Basic ', ''), 'base64').toString();
    return given === `${account.accountSid}:${account.authToken}` || given === 'SKkey:key-secret';
  }

  async function create(
    path: string,
    form: URLSearchParams,
    incoming: IncomingMessage,
    response: ServerResponse,
  ) {
    const planning = planned ?? BY_NUMBER[form.get('To') ?? ''];
    if (typeof planning === 'object' && !planning.taken) return send(response, planning);
    const isCall = path === '/Calls.json';
    const one = { sid: `${isCall ? 'CA' : 'SM'}${hex(32)}`, form, status: 'queued', createdAt: new Date() };
    if (isCall) calls.push({ ...one, updates: [] });
    else messages.push(one);
    if (planning === 'callback first') await tell(one, 'sent');
    if (delivers && !isCall) watch(untilTaken(one));
    if (planning === 'lost') return void incoming.socket.destroy();
    if (planning === 'held') return;
    send(response, typeof planning === 'object' ? planning : { status: 201, body: shown(one) });
  }

  function update(one: FakeMessage, form: URLSearchParams): void {
    (one as Partial<FakeCall>).updates?.push(form);
    const status = form.get('Status');
    if (status) one.status = status;
  }

  async function tell(
    message: FakeMessage,
    status: string,
    more: Record<string, string> = {},
  ): Promise<number> {
    message.status = status;
    const callback = message.form.get('StatusCallback') as string;
    const fields = {
      ...{ MessageSid: message.sid, SmsSid: message.sid, MessageStatus: status, SmsStatus: status },
      ...{ To: message.form.get('To') ?? '', From: message.form.get('From') ?? '' },
      ...{ AccountSid: account.accountSid, ApiVersion: '2010-04-01', ...more },
    };
    return (await post(callback, fields)).status;
  }

  async function untilTaken(message: FakeMessage): Promise<void> {
    while (!closed && (await tell(message, 'delivered').catch(() => 0)) !== 200) {
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  function watch(work: Promise<unknown>): void {
    telling.add(work);
    void work.finally(() => telling.delete(work));
  }

  function post(url: string, fields: Record<string, string>, options: PostOptions = {}): Promise<FakeReply> {
    const signature =
      options.signature ?? getExpectedTwilioSignature(options.token ?? account.authToken, url, fields);
    return postForm(url, fields, signature === 'none' ? {} : { [options.header ?? header]: signature });
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    ...{ account, messages, calls, requests, tell, post },
    answerWith(answer) {
      planned = answer;
    },
    async close() {
      closed = true;
      server.close();
      server.closeAllConnections();
      await Promise.all(telling);
    },
  };
}

const shown = ({ sid, form, status, createdAt }: FakeMessage) => ({
  ...{ sid, status, to: form.get('To'), from: form.get('From'), body: form.get('Body'), price: null },
  ...{
    num_segments: '1',
    direction: 'outbound-api',
    error_code: null,
    date_created: createdAt.toUTCString(),
  },
  ...{ num_media: '0', api_version: '2010-04-01', date_sent: null },
});

function listed(path: string, list: readonly FakeMessage[], query: URLSearchParams): unknown {
  const fits = (one: FakeMessage, name: string) =>
    query.get(name) === null || query.get(name) === one.form.get(name);
  const found = list.filter((one) => fits(one, 'To') && fits(one, 'From')).map(shown);
  return { [path === '/Calls.json' ? 'calls' : 'messages']: found, page: 0, page_size: 50 };
}

function send(response: ServerResponse, answer: FakeAnswer): void {
  if (typeof answer === 'string') return;
  const { status, body, headers = {} } = answer;
  const isText = typeof body === 'string';
  response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers });
  response.end(isText ? body : JSON.stringify(body));
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function postForm(
  url: string,
  fields: Record<string, string>,
  headers: Record<string, string>,
): Promise<FakeReply> {
  return new Promise((done, fail) => {
    const form = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8', connection: 'close' };
    const outgoing = request(
      url,
      { method: 'POST', headers: { ...form, ...headers }, agent: false },
      (response) => {
        void textOf(response).then((text) =>
          done({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', text }),
        );
      },
    );
    outgoing.on('error', fail).end(new URLSearchParams(fields).toString());
  });
}

const hex = (chars: number): string => randomBytes(chars / 2).toString('hex');
