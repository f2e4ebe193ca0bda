import { createHash, createHmac, generateKeyPairSync, randomUUID, sign, verify } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Telnyx and Vonage as their documents describe them, as far as Fanfare uses them for SMS: a create in JSON, callbacks with
 * the vendor's signature. `to` decides how a create is answered. Nothing of Fanfare's own code is used here.
 */
export interface FakeJsonCarrier {
  url: string;
  settings: Record<string, string>;
  secrets: Record<string, string>;
  /** What was taken, oldest first; `webhook_url` is where it is told about. */
  messages: { id: string; body: Record<string, string> }[];
  /** Of Vonage; `updates` were asked for later. */
  calls: FakeJsonCall[];
  requests: { method: string; path: string; headers: IncomingHttpHeaders; text: string }[];
  /** A signed request to an address of ours. */
  post(url: string, event: unknown, options?: SignOptions): Promise<number>;
  /** The same, with its answer. */
  ask(url: string, event: unknown, options?: SignOptions): Promise<{ status: number; text: string }>;
  close(): Promise<void>;
}

export interface FakeJsonCall {
  uuid: string;
  status: string;
  body: {
    to: { number: string }[];
    from: { number: string };
    answer_url: string[];
    event_url: string[];
    [name: string]: unknown;
  };
  updates: Record<string, unknown>[];
}

export interface SignOptions {
  /** Seconds; now without it. */
  at?: number;
  /** What is signed, if not what is sent. */
  signedText?: string;
  headers?: Record<string, string>;
  claims?: Record<string, unknown>;
}

/** Numbers of ours; each is answered as its name says. */
export const TO = {
  accepted: '+12025550190',
  rejected: '+15005550001',
  optedOut: '+15005550002',
  transient: '+15005550003',
  throttled: '+15005550004',
  account: '+15005550005',
  lost: '+15005550006',
  sender: '+15005550007',
  /** The sender's number is inactive at Telnyx. */
  inactive: '+15005550008',
  /** Telnyx has taken as much of the messaging profile as it may cost in a day. */
  spent: '+15005550009',
} as const;

/** Numbers that Telnyx does not dial: all with 403 and code 10010, and with what it is behind the words. */
export const UNDIALLED: Readonly<Record<string, string>> = {
  '+15005550101': 'User channel limit exceeded D1',
  '+15005550113': 'Dialed number is not included in whitelisted countries D13',
  '+15005550117': 'Account is disabled D17',
  '+15005550122': 'Channel limit exceeded D22',
  '+15005550151': 'Unverified origination number D51',
};

interface Dialect {
  path: string;
  accept(id: string): { status: number; body: unknown };
  refuse: Record<string, { status: number; body: unknown }>;
  /** The end of a message, as it is told. */
  delivered(id: string, body: Record<string, string>): unknown;
  /** What is no message: its answer, or none when the connection is to be cut. */
  other?(asked: {
    method: string;
    path: string;
    text: string;
  }): { status: number; body: unknown } | 'cut' | undefined;
  sign(text: string, options: SignOptions): Record<string, string>;
  isAllowed(headers: IncomingHttpHeaders): boolean;
}

/** A call of Telnyx, which takes commands; `ignored` counts those that it had already. */
export interface FakeTelnyxCall {
  id: string;
  isAlive: boolean;
  atMs: number;
  body: { to: string; from: string; webhook_url: string; [name: string]: unknown };
  commands: { action: string; body: Record<string, unknown> }[];
  ignored: number;
}

export interface FakeTelnyx extends FakeJsonCarrier {
  telnyxCalls: FakeTelnyxCall[];
  /** So many of the next commands, or of those after some that are taken, are answered with 503. */
  refuseCommands(count: number, options?: { after: number }): void;
}

export async function startFakeTelnyx(): Promise<FakeTelnyx> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const apiKey = `KEY${randomUUID()}`;
  const error = (status: number, code: string, title: string, detail = title) => ({
    status,
    body: { errors: [{ code, title, detail }] },
  });
  const telnyxCalls: FakeTelnyxCall[] = [];
  let refusals = 0;
  let taken = 0;
  const dialect: Dialect = {
    path: '/v2/messages',
    other({ method, path, text }) {
      const [, , , id = '', , action] = path.split('/');
      if (!/^\/v2\/calls(\/|$)/.test(path)) return undefined;
      if (method === 'POST' && id === '') {
        const body = JSON.parse(text) as FakeTelnyxCall['body'];
        const undialled = UNDIALLED[body.to];
        const refused = undialled ? error(403, '10010', undialled) : dialect.refuse[body.to];
        if (refused) return refused;
        const call = {
          id: `v3:${randomUUID()}`,
          isAlive: true,
          atMs: Date.now(),
          body,
          commands: [],
          ignored: 0,
        };
        telnyxCalls.push(call);
        const data = {
          call_control_id: call.id,
          call_leg_id: randomUUID(),
          is_alive: false,
          record_type: 'call',
        };
        return body.to === TO.lost ? 'cut' : { status: 200, body: { data } };
      }
      const call = telnyxCalls.find((one) => one.id === decodeURIComponent(id));
      if (!call) return error(404, '10005', 'Resource not found');
      if (method === 'GET')
        return { status: 200, body: { data: { call_control_id: call.id, is_alive: call.isAlive } } };
      if (!call.isAlive) return error(422, '90018', 'Call has already ended');
      if (refusals > 0 && taken-- <= 0) {
        refusals -= 1;
        return error(503, '10008', 'Service unavailable');
      }
      const body = JSON.parse(text) as Record<string, unknown>;
      const isKnown = call.commands.some(
        (one) => body.command_id !== undefined && one.body.command_id === body.command_id,
      );
      if (isKnown) call.ignored += 1;
      else call.commands.push({ action: action ?? '', body });
      return { status: 200, body: { data: { result: 'ok' } } };
    },
    accept: (id) => ({ status: 200, body: { data: { id, to: [{ status: 'queued' }], parts: 1 } } }),
    refuse: {
      [TO.rejected]: error(422, '40310', "Invalid 'to' address"),
      [TO.optedOut]: error(400, '40300', 'Blocked due to STOP message'),
      [TO.transient]: error(503, '10008', 'Service unavailable'),
      [TO.throttled]: error(429, '10011', 'Too many requests'),
      [TO.account]: error(401, '10009', 'Authentication failed'),
      [TO.spent]: error(429, '40333', 'Messaging profile spend limit reached'),
      [TO.inactive]: error(400, '10001', 'Inactive phone number', 'The phone number is inactive.'),
      [TO.sender]: error(400, '40305', "Invalid 'from' address"),
    },
    delivered: (id) => ({
      data: {
        ...{ event_type: 'message.finalized', id: randomUUID(), occurred_at: new Date().toISOString() },
        payload: { id, to: [{ status: 'delivered' }], parts: 1 },
      },
    }),
    sign(text, { at = Math.floor(Date.now() / 1_000), signedText = text }) {
      return {
        'telnyx-timestamp': String(at),
        'telnyx-signature-ed25519': sign(null, Buffer.from(`${at}|${signedText}`), privateKey).toString(
          'base64',
        ),
      };
    },
    isAllowed: ({ authorization }) => authorization === `Bearer ${apiKey}`,
  };
  const bytes = publicKey.export({ type: 'spki', format: 'der' }).subarray(12);
  const settings = { publicKey: bytes.toString('base64'), connectionId: '1494404757140276705' };
  return {
    ...(await start(dialect, '/v2', settings, { apiKey })),
    telnyxCalls,
    refuseCommands(count, { after } = { after: 0 }) {
      refusals = count;
      taken = after;
    },
  };
}

export async function startFakeVonage(): Promise<FakeJsonCarrier> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const applicationId = randomUUID();
  const signatureSecret = 'the signature secret of the account, long enough';
  const problem = (status: number, code: string, title: string) => ({
    status,
    body: {
      type: `https://developer.vonage.com/api-errors/messages#${code}`,
      ...{ title, detail: `${title}.`, instance: randomUUID() },
    },
  });
  const dialect: Dialect = {
    path: '/v1/messages',
    accept: (id) => ({ status: 202, body: { message_uuid: id } }),
    refuse: {
      [TO.rejected]: problem(422, '1040', 'Invalid recipient'),
      [TO.optedOut]: problem(422, '1050', 'Recipient opted out'),
      [TO.transient]: problem(503, '1030', 'Internal error'),
      [TO.throttled]: problem(429, '1000', 'Throttled'),
      [TO.account]: problem(401, 'unauthorized', 'Unauthorized'),
      [TO.sender]: problem(422, '1120', 'Illegal sender address'),
    },
    delivered: (id, { client_ref }) => ({
      ...{ message_uuid: id, client_ref, status: 'delivered', channel: 'sms' },
      timestamp: new Date().toISOString(),
    }),
    sign(text, { at = Math.floor(Date.now() / 1_000), signedText = text, claims }) {
      const payload = {
        ...{ iat: at, jti: randomUUID(), iss: 'Vonage', application_id: applicationId },
        payload_hash: createHash('sha256').update(signedText).digest('hex'),
        ...claims,
      };
      const data = [{ alg: 'HS256', typ: 'JWT' }, payload].map(encoded).join('.');
      const proof = createHmac('sha256', signatureSecret).update(data).digest('base64url');
      return { authorization: `Bearer ${data}.${proof}` };
    },
    isAllowed({ authorization = '' }) {
      const [head, claims, proof] = authorization.replace('Bearer ', '').split('.');
      const { application_id, exp } = JSON.parse(Buffer.from(claims ?? '', 'base64url').toString());
      const isSigned = verify(
        'RSA-SHA256',
        Buffer.from(`${head}.${claims}`),
        publicKey,
        Buffer.from(proof ?? '', 'base64url'),
      );
      return isSigned && application_id === applicationId && exp > Date.now() / 1_000;
    },
  };
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return start(dialect, '', { applicationId }, { privateKey: pem, signatureSecret });
}

const encoded = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

/** The Voice API of Vonage. */
function answerOfCalls(calls: FakeJsonCall[], method: string, path: string, text: string) {
  if (method === 'POST') {
    const body = JSON.parse(text) as FakeJsonCall['body'];
    if (body.to[0]?.number === TO.rejected.slice(1)) {
      return { status: 400, body: { type: 'BAD_REQUEST', error_title: 'Bad Request' } };
    }
    const uuid = randomUUID();
    calls.push({ uuid, status: 'started', body, updates: [] });
    return {
      status: 201,
      body: { uuid, status: 'started', direction: 'outbound', conversation_uuid: 'CON-1' },
    };
  }
  const call = calls.find(({ uuid }) => path.endsWith(`/${uuid}`));
  if (method === 'PUT') {
    call?.updates.push(JSON.parse(text) as Record<string, unknown>);
    return { status: call ? 200 : 404, body: {} };
  }
  if (call) return { status: 200, body: { uuid: call.uuid, status: call.status } };
  const listed = calls.map(({ uuid, body }) => ({
    uuid,
    to: body.to[0],
    from: body.from,
    direction: 'outbound',
  }));
  return { status: 200, body: { count: listed.length, _embedded: { calls: listed } } };
}

async function start(
  dialect: Dialect,
  prefix: string,
  settings: Record<string, string>,
  secrets: Record<string, string>,
): Promise<FakeJsonCarrier> {
  const messages: FakeJsonCarrier['messages'] = [];
  const calls: FakeJsonCall[] = [];
  const requests: FakeJsonCarrier['requests'] = [];
  let closed = false;

  async function ask(url: string, event: unknown, options: SignOptions = {}) {
    const body = JSON.stringify(event);
    const headers = {
      'content-type': 'application/json',
      ...dialect.sign(body, options),
      ...options.headers,
    };
    const answer = await fetch(url, { method: 'POST', body, headers });
    return { status: answer.status, text: await answer.text() };
  }
  const post = async (url: string, event: unknown, options?: SignOptions) =>
    (await ask(url, event, options)).status;

  /** As often as needed: a provider that is restarted has another address. */
  async function tell(message: FakeJsonCarrier['messages'][number]): Promise<void> {
    while (!closed) {
      const url = message.body.webhook_url as string;
      const status = await post(url, dialect.delivered(message.id, message.body)).catch(() => 0);
      if (status === 200) return;
      await new Promise((done) => setTimeout(done, 20).unref());
    }
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const { method = '', url: path = '', headers } = request;
      requests.push({ method, path, headers, text });
      const say = ({ status, body }: { status: number; body: unknown }) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      };
      if (!dialect.isAllowed(headers)) return say(dialect.refuse[TO.account] as never);
      if (path.startsWith('/v1/calls') && dialect.path === '/v1/messages') {
        return say(answerOfCalls(calls, method, path, text));
      }
      const other = dialect.other?.({ method, path, text });
      if (other === 'cut') return request.socket.destroy();
      if (other) return say(other);
      if (method === 'GET') return say({ status: 200, body: { data: [] } });
      const body = JSON.parse(text) as Record<string, string>;
      const to = `+${body.to?.replace('+', '')}`;
      const refused = dialect.refuse[to];
      if (path !== dialect.path) return say({ status: 404, body: {} });
      if (refused) return say(refused);
      const message = { id: randomUUID(), body };
      messages.push(message);
      void tell(message);
      if (to === TO.lost) return request.socket.destroy();
      say(dialect.accept(message.id));
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`;
  return {
    ...{ url, settings: { ...settings, url }, secrets, messages, calls, requests, post, ask },
    async close() {
      closed = true;
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
