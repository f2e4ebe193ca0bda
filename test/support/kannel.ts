import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port';
import { programOf } from './program';
import { runTied, type TiedProcess } from './run-tied';

/**
 * Debian's Kannel: a bearerbox that binds to an SMS centre by SMPP, and the smsbox that speaks HTTP. Both end
 * with this process.
 */
export interface Kannel {
  /** Of sendsms, with the user and password. */
  url: string;
  close(): Promise<void>;
}

export async function startKannel(options: {
  smscPort: number;
  /** Where what subscribers write goes: the query is added. */
  getUrl?: string | undefined;
}): Promise<Kannel> {
  const [bearerbox, smsbox] = [programOf('bearerbox'), programOf('smsbox')];
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-kannel-'));
  const [admin, box, sendsms] = [await freePort(), await freePort(), await freePort()];
  const file = join(directory, 'kannel.conf');
  writeFileSync(file, configuration({ admin, box, sendsms, ...options }));
  const started: TiedProcess[] = [];
  const run = async (command: string, port: number): Promise<void> => {
    const process = runTied(command, [file], { cwd: directory, stopSignal: 'SIGKILL' });
    started.push(process);
    await process.untilReady(() => listens(port));
  };
  const close = async (): Promise<void> => {
    for (const process of started.reverse()) await process.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await run(bearerbox, box);
    await run(smsbox, sendsms);
  } catch (error) {
    await close();
    throw error;
  }
  return { url: `http://fanfare:kannel-secret@127.0.0.1:${sendsms}/cgi-bin/sendsms`, close };
}

function configuration(ports: {
  admin: number;
  box: number;
  sendsms: number;
  smscPort: number;
  getUrl?: string | undefined;
}): string {
  const service = ports.getUrl
    ? `
group = sms-service
keyword = default
get-url = "${ports.getUrl}?from=%p&to=%P&text=%a&id=%I&time=%T"
max-messages = 0
catch-all = true
`
    : '';
  return `
group = core
admin-port = ${ports.admin}
admin-interface = 127.0.0.1
admin-password = admin-secret
smsbox-port = ${ports.box}
smsbox-interface = 127.0.0.1
dlr-storage = internal

group = smsc
smsc = smpp
smsc-id = test
host = 127.0.0.1
port = ${ports.smscPort}
transceiver-mode = true
smsc-username = kannel
smsc-password = secret
system-type = ""
reconnect-delay = 1
source-addr-autodetect = true

group = smsbox
bearerbox-host = 127.0.0.1
bearerbox-port = ${ports.box}
sendsms-port = ${ports.sendsms}
sendsms-interface = 127.0.0.1
http-request-retry = 20
http-queue-delay = 1

group = sendsms-user
username = fanfare
password = kannel-secret
max-messages = 10
concatenation = true
${service}`;
}

function listens(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}
