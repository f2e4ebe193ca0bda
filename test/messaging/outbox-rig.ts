import type { Kysely } from 'kysely';
import { stoppedWorkspaces } from '../../src/campaigns/stops/stops';
import { type Message, message as messageSchema } from '../../src/contracts/send';
import type { MessageEvent } from '../../src/domain/message';
import type { SenderLimits } from '../../src/domain/sender-limit';
import type { Foreground } from '../../src/foreground';
import { createLog, type Log } from '../../src/log';
import type { CarriersDeps } from '../../src/messaging/carriers/carriers';
import { createDelivery, type Delivery } from '../../src/messaging/delivery';
import type { DeliveryObserver } from '../../src/messaging/model/observer';
import type { MessagingTables } from '../../src/messaging/model/tables';
import type { PolicySource, SenderRule } from '../../src/messaging/outbox/accept/policy-rules';
import type { ListUnsubscribe } from '../../src/messaging/outbox/deliver/list-unsubscribe';
import { derivedText } from '../../src/messaging/templates/template-parts';
import { createTemplateVersions } from '../../src/messaging/templates/template-versions';
import { newId } from '../../src/storage/new-id';
import type { Storage } from '../../src/storage/storage';
import { ScriptedProvider } from './scripted-provider';

/** A messaging service's outbox over a real database, with scripted providers at its end. */
export interface OutboxRig {
  db: Kysely<MessagingTables>;
  workspaceId: string;
  smsTemplate: string;
  emailTemplate: string;
  /** A process of its own, as far as the database can tell. Stopped with the rig. */
  process(
    providers?: Partial<Record<'email' | 'sms' | 'voice', ScriptedProvider>>,
    options?: {
      senderLimits?: SenderLimits;
      listUnsubscribe?: ListUnsubscribe;
      policyOf?: PolicySource;
      senderRule?: SenderRule;
      observer?: DeliveryObserver;
      carriers?: CarriersDeps;
      foreground?: Foreground;
      lookUpMs?: number;
    },
  ): Promise<TestProcess>;
  sms(uid: string, more?: Record<string, unknown>): Message;
  email(uid: string, more?: Record<string, unknown>): Message;
  states(): Promise<Record<string, string>>;
  stop(): Promise<void>;
}

export interface TestProcess {
  delivery: Delivery;
  sms: ScriptedProvider;
  email: ScriptedProvider;
  voice: ScriptedProvider;
}

export async function createOutboxRig(
  storage: Storage,
  log: Log = createLog(process.env.LOG_LEVEL ?? 'silent'),
): Promise<OutboxRig> {
  const db = storage.tables<MessagingTables>();
  const workspaceId = newId('ws');
  const smsTemplate = await addTemplate(db, workspaceId, { channel: 'sms', body: 'Hello {{NAME}}' });
  const emailTemplate = await addTemplate(db, workspaceId, {
    channel: 'email',
    subject: 'For {{NAME}}',
    body: '<p>Dear {{NAME}}</p>',
  });
  const processes: TestProcess[] = [];
  const parse = (value: Record<string, unknown>) => messageSchema.parse(value);

  return {
    db,
    workspaceId,
    smsTemplate,
    emailTemplate,
    async process(given = {}, options = {}) {
      const sms = given.sms ?? new ScriptedProvider('sms');
      const email = given.email ?? new ScriptedProvider('email');
      const voice = given.voice ?? new ScriptedProvider('voice');
      const delivery = createDelivery({
        db,
        templates: createTemplateVersions(db),
        stops: stoppedWorkspaces,
        providers: { sms, email, voice },
        ...options,
        log,
      });
      const made = { delivery, sms, email, voice };
      processes.push(made);
      await delivery.start();
      return made;
    },
    sms: (uid, more = {}) =>
      parse({
        channel: 'sms',
        uid,
        to: '+12025550123',
        from: '12345',
        'template-id': smsTemplate,
        params: { NAME: 'Ada' },
        ...more,
      }),
    email: (uid, more = {}) =>
      parse({
        channel: 'email',
        uid,
        to: 'ada@example.com',
        from: 'us@example.com',
        'template-id': emailTemplate,
        params: { NAME: 'Ada' },
        ...more,
      }),
    async states() {
      const rows = await db
        .selectFrom('messages')
        .select(['uid', 'state'])
        .where('workspace_id', '=', workspaceId)
        .execute();
      return Object.fromEntries(rows.map((row) => [row.uid, row.state]));
    },
    async stop() {
      for (const { delivery, ...providers } of processes) {
        for (const provider of Object.values(providers)) provider.release();
        await delivery.stop();
      }
      // What is left would be taken over by the processes of the next test.
      await db.deleteFrom('messages').where('workspace_id', '=', workspaceId).execute();
    },
  };
}

export async function addTemplate(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  content: { channel: 'sms' | 'email' | 'voice'; body: string; subject?: string },
): Promise<string> {
  const id = newId('tpl');
  const { channel, body, subject = null } = content;
  await db
    .insertInto('templates')
    .values({ id, workspace_id: workspaceId, channel, name: id, current_version: 1 })
    .execute();
  await db
    .insertInto('template_versions')
    .values({ template_id: id, version: 1, subject, body, text_body: textOf(channel, body), design: 'null' })
    .execute();
  return id;
}

const textOf = (channel: string, body: string) => (channel === 'email' ? derivedText(body) : null);

/** The whole feed from its beginning. */
export async function allEvents(delivery: Delivery, workspaceId: string): Promise<MessageEvent[]> {
  const events: MessageEvent[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await delivery.readEvents(workspaceId, { after, limit: 1_000, waitSeconds: 0 });
    if (page.events.length === 0) return events;
    events.push(...page.events);
    after = page.next;
  }
}
