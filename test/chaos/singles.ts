import { setTimeout as delay } from 'node:timers/promises';
import { eventsOf, type InsistentClient, insistentClient } from './insistent-client';
import { ENDS } from './invariants';
import { sendersOf, type Workspace } from './workspaces';

/** Messages of their own beside the campaigns, each by a request that is repeated until it is answered. */
export interface Singles {
  /** Sends no more; resolves when each has its end, or will not. */
  finished(): Promise<Single[]>;
}

export interface Single {
  /** The message's uid, or the id of a durable send, with which the uids of its tries begin. */
  key: string;
  state: string;
  /** The types of what happened to a message, in order. */
  events(uid: string): Promise<string[]>;
}

/** A service that is away gets so many requests of a workspace. A third are workflows, of which two cores do 30 a second. */
const AT_ONCE = 2;
const PAUSE_MS = 400;
const SCHEDULED_MS = 4_000;
/** For what is under way when the faults end. */
const FINISH_MS = 180_000;

/** What a workspace sends, one after the other. */
const KINDS = ['sms', 'durable sms', 'email', 'scheduled email', 'durable email', 'scheduled sms'] as const;

export async function openSingles(baseUrl: string, workspaces: readonly Workspace[]): Promise<Singles> {
  let isOpen = true;
  const all = await Promise.all(workspaces.map((one, number) => openSender(baseUrl, one, number)));
  const work = Promise.all(
    all.flatMap(({ sendNext }) =>
      Array.from({ length: AT_ONCE }, async () => {
        for (; isOpen; await delay(PAUSE_MS)) await sendNext();
      }),
    ),
  );
  // A request that is refused for good is told where the end is waited for.
  work.catch(() => undefined);

  return {
    async finished() {
      isOpen = false;
      await work;
      const deadline = Date.now() + FINISH_MS;
      const singles: Single[] = [];
      for (const look of all.flatMap(({ looks }) => looks)) {
        let single = await look();
        for (; !ENDS.has(single.state) && Date.now() < deadline; single = await look()) await delay(500);
        singles.push(single);
      }
      return singles;
    },
  };
}

/** One workspace's single messages. */
async function openSender(baseUrl: string, workspace: Workspace, number: number) {
  const client = await insistentClient(baseUrl, workspace);
  const template = await createTemplate(client);
  const looks: (() => Promise<Single>)[] = [];
  let count = 0;

  async function sendNext(): Promise<void> {
    const kind = KINDS[count % KINDS.length] as (typeof KINDS)[number];
    const uid = `single-${number}-${++count}`;
    const message = {
      uid,
      class: 'transactional',
      ...(kind.endsWith('sms')
        ? { channel: 'sms', to: `+1212556${String(count).padStart(4, '0')}`, 'template-id': template }
        : { channel: 'email', to: `single${count}@example.com`, subject: 'Hello', body: '<p>Hello</p>' }),
      from: sendersOf(number)[kind.endsWith('sms') ? 'sms' : 'email'],
      ...(kind.startsWith('scheduled') && { sendAt: new Date(Date.now() + SCHEDULED_MS).toISOString() }),
    };
    if (kind.startsWith('durable')) {
      const { data } = JSON.parse(await client.insist('POST', '/api/send', message)) as {
        data: { id: string };
      };
      looks.push(() => look(client, `/api/send/${data.id}`, data.id));
    } else {
      await client.insist('POST', '/send-msg', message);
      looks.push(() => look(client, `/messages/${uid}`, uid));
    }
  }

  return { sendNext, looks };
}

async function look(client: InsistentClient, path: string, key: string): Promise<Single> {
  const { data } = JSON.parse(await client.insist('GET', path)) as { data: { state: string } };
  return { key, state: data.state, events: (uid) => eventsOf(client, uid) };
}

async function createTemplate(client: InsistentClient): Promise<string> {
  const body = { templateName: 'single sms', channel: 'sms', body: 'Hello' };
  const { template } = JSON.parse(await client.insist('POST', '/api/template/', body)) as {
    template: { id: string };
  };
  return template.id;
}
