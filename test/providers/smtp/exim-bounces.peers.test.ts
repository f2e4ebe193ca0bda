import { sql } from 'kysely';
import { message as messageSchema } from '../../../src/contracts/send';
import { createLog } from '../../../src/log';
import { createDelivery, type Delivery } from '../../../src/messaging/delivery';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { createSuppressionList } from '../../../src/messaging/suppression/suppression';
import { createTemplateVersions } from '../../../src/messaging/templates/template-versions';
import type { SmtpProvider } from '../../../src/providers/smtp/smtp-provider';
import { newId } from '../../../src/storage/new-id';
import type { Storage } from '../../../src/storage/storage';
import { addTemplate } from '../../messaging/outbox-rig';
import { ScriptedProvider } from '../../messaging/scripted-provider';
import { type Certificate, makeCertificate } from '../../support/certificate';
import { type Exim, startExim } from '../../support/exim';
import { freePort } from '../../support/free-port';
import { type SmtpSink, startSmtpSink } from '../../support/smtp-sink';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { openSmtp } from './smtp-rig';

/** We give mail to an Exim, which brings some of it and gives up the rest, and tells our listener so. */
describeWithDatabase('a real Exim', (database) => {
  const workspaceId = newId('ws');
  let storage: Storage;
  let delivery: Delivery;
  let exim: Exim;
  let certificate: Certificate;
  let template: string;
  const sinks: SmtpSink[] = [];

  beforeAll(async () => {
    storage = await database.open();
    const db = storage.tables<MessagingTables>();
    template = await addTemplate(db, workspaceId, {
      channel: 'email',
      subject: 'Hello',
      body: '<p>Hello</p>',
    });
    certificate = makeCertificate();
    const port = await freePort();
    const email: SmtpProvider = openSmtp(`smtp://127.0.0.1:${port}?tls=none`, {
      timeouts: { connectMs: 10_000, answerMs: 20_000 },
      returnPath: { domain: 'bounces.example.org', secret: 'secret' },
      listen: { host: '127.0.0.1', port: 0, tls: { ...certificate, required: true } },
    });
    delivery = createDelivery({
      db,
      templates: createTemplateVersions(db),
      providers: { email, sms: new ScriptedProvider('sms'), voice: new ScriptedProvider('voice') },
      log: createLog('silent'),
    });
    await delivery.start();
    const nobody = await startSmtpSink(['-f', 'rcpt', '-B', '550 5.1.1 <ann@nobody.example>: no such user']);
    const full = await startSmtpSink(['-r', 'rcpt', '-b', '452 4.2.2 Mailbox full']);
    const fine = await startSmtpSink();
    sinks.push(nobody, full, fine);
    exim = await startExim(port, {
      'bounces.example.org': { port: email.inboundPort ?? 0 },
      'nobody.example': { port: nobody.port },
      'full.example': { port: full.port, seconds: 4 },
      'slow.example': { port: full.port },
      'fine.example': { port: fine.port },
    });
  }, 150_000);
  afterAll(async () => {
    await exim.stop();
    await delivery.stop();
    await Promise.all(sinks.splice(0).map((sink) => sink.stop()));
    certificate.remove();
  });

  async function send(to: string): Promise<string> {
    const message = { channel: 'email', uid: to, to, from: 'news@example.org', 'template-id': template };
    return (await delivery.accept(workspaceId, messageSchema.parse({ ...message, params: {} }))).id;
  }
  /** After its acceptance. */
  const told = async (to: string) => {
    const { events } = await delivery.track(workspaceId, to);
    return events.slice(1).map(({ type, code }) => [type, code]);
  };
  const untilTold = (to: string, count: number) =>
    until(`${count} events of ${to}`, async () => (await told(to)).length >= count);
  const block = async (address: string) => {
    const list = createSuppressionList({ db: storage.tables<MessagingTables>() });
    const page = { page: 1, limit: 10, channel: undefined, search: address };
    return (await list.list(workspaceId, page)).suppressions.map(({ source, reason }) => [source, reason]);
  };
  /** Each mail about the message that our listener has taken. */
  const reports = (id: string) => exim.log().match(new RegExp(`=> b\\+${id}\\..*`, 'gi')) ?? [];

  test('brings mail, and says nothing about it', async () => {
    await send('eve@fine.example');
    await until('the mail', () => sinks[2]?.mails().length === 1);
    await untilTold('eve@fine.example', 1);
    expect(await told('eve@fine.example')).toEqual([['sent', undefined]]);
  });

  test('reports an address that is none: blocked at once', async () => {
    const id = await send('ann@nobody.example');
    await untilTold('ann@nobody.example', 2);
    expect(await told('ann@nobody.example')).toEqual([
      ['sent', undefined],
      ['undelivered', '5.1.1'],
    ]);
    expect(await block('ann@nobody.example')).toEqual([['bounce', 'no such mailbox']]);
    await until('the log of it', () => reports(id).length === 1);
    expect(reports(id)[0]).toContain('X=TLS1.');
  });

  test('warns that mail is late, which is no bounce', async () => {
    const id = await send('bob@slow.example');
    await until('two warnings', () => reports(id).length > 1);
    await untilTold('bob@slow.example', 1);
    expect(await told('bob@slow.example')).toEqual([['sent', undefined]]);
    expect(await block('bob@slow.example')).toEqual([]);
  });

  test('reports a mailbox that was full until it gave up: one bounce of those that add up', async () => {
    const id = await send('cy@full.example');
    await untilTold('cy@full.example', 2);
    expect(await told('cy@full.example')).toEqual([
      ['sent', undefined],
      ['undelivered', '4.2.2'],
    ]);
    expect(await block('cy@full.example')).toEqual([]);
    const { rows } = await sql`
      select address, message_id from soft_bounces where workspace_id = ${workspaceId}
    `.execute(storage.tables());
    expect(rows).toEqual([{ address: 'cy@full.example', message_id: id }]);
  });

  test('reports the fifth day on which a mailbox was full: blocked', async () => {
    await sql`
      insert into soft_bounces (workspace_id, address, message_id, day)
      select ${workspaceId}, 'di@full.example', 'msg_' || ago, (now() at time zone 'utc')::date - ago
      from generate_series(1, 4) as days(ago)
    `.execute(storage.tables());
    await send('di@full.example');
    await untilTold('di@full.example', 2);
    expect(await block('di@full.example')).toEqual([['bounce', 'took nothing for days']]);
  });
});
