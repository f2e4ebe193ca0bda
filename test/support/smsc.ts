import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { type LibrarySession, newPdu, openLibrarySession, type Pdu } from '../../src/providers/smpp/library';

/**
 * An SMS centre for tests: an SMPP server that does to each message what the last digits of its destination
 * say (STATUS_BY_SUFFIX, STATE_BY_SUFFIX; else it takes it and reports it as delivered), keeps what it was
 * given, and offers receipts and messages of subscribers until they are acknowledged, to whoever binds next as
 * well.
 */
export interface Smsc {
  port: number;
  url: string;
  /** Every submit_sm that it took, in order. */
  taken: TakenPart[];
  /** Every submit_sm that reached it. */
  offered: number;
  /** The most that were unanswered at once. */
  mostAtOnce: number;
  binds: number;
  connections: number;
  /** Of bound sessions. */
  systemIds: string[];
  sessions(): number;
  /** Subscriber to short code. */
  say(sms: {
    from: string;
    to: string;
    text?: string;
    fields?: Record<string, unknown>;
    /** deliver_sm without it. */
    command?: 'data_sm';
  }): void;
  /** How many deliver_sm are not acknowledged. */
  owed(): number;
  /** A receipt with these fields, as it stands. */
  deliver(fields: Record<string, unknown>): void;
  cutAll(): void;
  /** Ends every session as SMPP has it: it says so, and hangs up when that is answered. */
  unbindAll(): void;
  /** How many of those ends were answered. */
  unbound: number;
  close(): Promise<void>;
}

export interface TakenPart {
  id: string;
  from: string;
  to: string;
  esmClass: number;
  dataCoding: number;
  octets: Buffer;
  pdu: Pdu;
}

export interface SmscOptions {
  password?: string;
  /** Status of every bind. */
  bindStatus?: () => number;
  /** How a message's id is written in the answer. */
  idInAnswer?: (number: number) => string;
  receipt?: (part: TakenPart, number: number, state: string) => Record<string, unknown>;
  /** What it does with the reference of a submit_sm; without it, nothing. */
  reference?: 'echoed' | 'refused';
  /** Refuses every validity_period (ESME_RINVEXPIRY). */
  refusesValidity?: boolean;
  /** Before the answer to submit_sm. */
  receiptFirst?: boolean;
  latencyMs?: number;
  /** No submit_sm is answered before. */
  until?: Promise<void>;
  /** No receipts at all. */
  silent?: boolean;
  /** Asked at each submit_sm; cuts the connection before or after taking it, or takes it without an answer. */
  cut?: (part: number) => 'before' | 'after' | 'no-answer' | undefined;
  status?: (to: string, part: number) => number;
  port?: number;
  /** With it, connections are TLS. */
  tls?: { key: Buffer; cert: Buffer };
  /** Nothing is answered, not even enquire_link. */
  deaf?: () => boolean;
}

/** By the last three digits of the destination: the status of its submit_sm. */
const STATUS_BY_SUFFIX: Record<string, number> = {
  '101': 0x0b,
  '102': 0x08,
  '103': 0x58,
  '104': 0x14,
  '105': 0x0d,
  '106': 0x66,
  '107': 0x45,
};
/** What the receipt says; the answer is lost with `110`, and the connection with `111`. */
const STATE_BY_SUFFIX: Record<string, string> = {
  '121': 'UNDELIV',
  '122': 'EXPIRED',
  '123': 'REJECTD',
  '124': 'DELETED',
  '125': 'UNKNOWN',
  '126': 'ACCEPTD',
};

const TLV_NOT_ALLOWED = 0xc1;
const INVALID_EXPIRY = 0x62;

const suffixOf = (to: string): string => to.slice(-3);

export async function startSmsc(options: SmscOptions = {}): Promise<Smsc> {
  const sessions = new Set<LibrarySession>();
  const sockets = new Set<Socket>();
  const owed = new Map<
    number,
    { command: string; fields: Record<string, unknown>; sentTo?: LibrarySession }
  >();
  let numbers = 0;
  let deliveries = 0;
  let unanswered = 0;

  const server: Server = options.tls ? createTlsServer(options.tls) : createServer();
  // Before TLS, of which a client that does not like the certificate does not reach the end.
  server.on('connection', () => {
    smsc.connections += 1;
  });
  server.on(options.tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket);
    const session = openLibrarySession(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      sessions.delete(session);
    });
    session.on('error', () => socket.destroy());
    session.on('pdu', (pdu: Pdu) => {
      if (!options.deaf?.()) hear(session, pdu);
    });
  });

  function hear(session: LibrarySession, pdu: Pdu): void {
    if (pdu.command.startsWith('bind_')) bind(session, pdu);
    else if (pdu.command === 'submit_sm') submitted(session, pdu);
    else if (pdu.command === 'deliver_sm_resp' || pdu.command === 'data_sm_resp') acknowledged(session, pdu);
    else if (pdu.command === 'enquire_link') session.send(pdu.response());
    else if (pdu.command === 'unbind') {
      sessions.delete(session);
      session.send(pdu.response());
      session.socket.end();
    } else if (pdu.command === 'unbind_resp') {
      smsc.unbound += 1;
      session.socket.end();
    }
  }

  function bind(session: LibrarySession, pdu: Pdu): void {
    smsc.binds += 1;
    const wrong = options.password !== undefined && pdu.password !== options.password ? 0x0e : 0;
    const status = options.bindStatus?.() ?? wrong;
    session.send(pdu.response({ command_status: status, system_id: 'smsc' }));
    if (status !== 0) return;
    smsc.systemIds.push(pdu.system_id ?? '');
    if (pdu.command !== 'bind_transmitter') {
      sessions.add(session);
      setImmediate(flush);
    }
  }

  function submitted(session: LibrarySession, pdu: Pdu): void {
    smsc.offered += 1;
    unanswered += 1;
    smsc.mostAtOnce = Math.max(smsc.mostAtOnce, unanswered);
    const judge = (): void => {
      unanswered -= 1;
      take(session, pdu);
    };
    if (options.until) void options.until.then(judge);
    else if (options.latencyMs === undefined) judge();
    else setTimeout(judge, options.latencyMs);
  }

  function take(session: LibrarySession, pdu: Pdu): void {
    const to = pdu.destination_addr ?? '';
    const cut = options.cut?.(smsc.offered) ?? { '110': 'no-answer', '111': 'after' }[suffixOf(to)];
    if (cut === 'before') return void session.socket.resetAndDestroy();
    const { user_message_reference: reference } = pdu;
    const refused = options.reference === 'refused' && reference !== undefined ? TLV_NOT_ALLOWED : undefined;
    const invalid = options.refusesValidity && pdu.validity_period ? INVALID_EXPIRY : undefined;
    const status =
      refused ?? invalid ?? options.status?.(to, smsc.offered) ?? STATUS_BY_SUFFIX[suffixOf(to)] ?? 0;
    if (status !== 0) return void session.send(pdu.response({ command_status: status }));
    const number = ++numbers;
    const id = options.idInAnswer?.(number) ?? `id-${number}`;
    const octets = (pdu.short_message?.length ? pdu.short_message : pdu.message_payload) ?? Buffer.alloc(0);
    const { esm_class: esmClass = 0, data_coding: dataCoding = 0 } = pdu;
    const part = { id, from: pdu.source_addr ?? '', to, esmClass, dataCoding, octets, pdu };
    smsc.taken.push(part);
    const receipt = (): void => {
      if (options.silent || pdu.registered_delivery === 0) return;
      const state = STATE_BY_SUFFIX[suffixOf(to)] ?? 'DELIVRD';
      const echoed = options.reference === 'echoed' ? { user_message_reference: reference } : {};
      owe({ ...(options.receipt ?? textReceipt)(part, number, state), ...echoed });
    };
    if (options.receiptFirst) receipt();
    if (cut === 'after') session.socket.resetAndDestroy();
    else if (cut !== 'no-answer') session.send(pdu.response({ message_id: id }));
    if (!options.receiptFirst) receipt();
  }

  function owe(fields: Record<string, unknown>, command = 'deliver_sm'): void {
    owed.set(++deliveries, { command, fields });
    flush();
  }

  function flush(): void {
    const [session] = sessions;
    if (!session) return;
    for (const [number, delivery] of owed) {
      if (delivery.sentTo && sessions.has(delivery.sentTo)) continue;
      delivery.sentTo = session;
      session.send(newPdu(delivery.command, { ...delivery.fields, sequence_number: number }));
    }
  }

  /** One that was not taken is offered again a little later, as real centres do. */
  function acknowledged(session: LibrarySession, pdu: Pdu): void {
    const delivery = owed.get(pdu.sequence_number);
    if (!delivery || delivery.sentTo !== session) return;
    if (pdu.command_status === 0) return void owed.delete(pdu.sequence_number);
    delete delivery.sentTo;
    setTimeout(flush, 50).unref();
  }

  const smsc: Smsc = {
    port: 0,
    url: '',
    taken: [],
    offered: 0,
    mostAtOnce: 0,
    binds: 0,
    connections: 0,
    systemIds: [],
    sessions: () => sessions.size,
    say({ from, to, text = '', fields = {}, command }) {
      const field = command === 'data_sm' ? 'message_payload' : 'short_message';
      const common = { source_addr: from, source_addr_ton: 1, source_addr_npi: 1, destination_addr: to };
      owe({ ...common, [field]: Buffer.from(text, 'latin1'), data_coding: 3, ...fields }, command);
    },
    unbindAll() {
      for (const session of sessions) session.send(newPdu('unbind'));
      sessions.clear();
    },
    unbound: 0,
    owed: () => owed.size,
    deliver: (fields) => owe(fields),
    cutAll() {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  await new Promise<void>((done) => server.listen(options.port ?? 0, '127.0.0.1', done));
  smsc.port = (server.address() as AddressInfo).port;
  smsc.url = `${options.tls ? 'smpps' : 'smpp'}://fanfare:${options.password ?? 'secret'}@127.0.0.1:${smsc.port}`;
  return smsc;
}

/** The text of appendix B, the way most centres write it. */
function textReceipt(part: TakenPart, _number: number, state: string): Record<string, unknown> {
  return receiptText(part, part.id, state);
}

export function receiptText(part: TakenPart, id: string, state: string): Record<string, unknown> {
  const error = state === 'DELIVRD' ? '000' : '034';
  const text = `id:${id} sub:001 dlvrd:001 submit date:2611212327 done date:2611212328 stat:${state} err:${error} text:Hello`;
  return {
    source_addr: part.to,
    source_addr_ton: 1,
    destination_addr: part.from,
    esm_class: 0x04,
    short_message: Buffer.from(text, 'latin1'),
  };
}
