/** A process that has six calls of a sender of which so many may be placed at once, and a carrier of two, until it is killed. */
import { setTimeout as delay } from 'node:timers/promises';
import { openStorage } from '../../../src/storage/storage';
import { addTemplate, createOutboxRig } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';

const SENDER = '+12025550100';

async function main(databaseUrl: string, concurrentCalls: number, answerMs: number): Promise<void> {
  const rig = await createOutboxRig(await openStorage({ databaseUrl }));
  // It is busy with the first two, so that further ones wait for it with their places.
  const voice = new ScriptedProvider('voice', { answersEach: true, parallel: 2, batchMax: 2 });
  voice.script = ({ id }) => delay(answerMs, { kind: 'accepted', providerId: `p:${id}` });
  const { delivery } = await rig.process({ voice });
  const sender = { channel: 'voice' as const, sender: SENDER };
  await delivery.senderLimits.put(rig.workspaceId, sender, { concurrentCalls });
  const template = await addTemplate(rig.db, rig.workspaceId, { channel: 'voice', body: '<Response/>' });
  const calls = Array.from({ length: 6 }, (_, i) =>
    rig.sms(`v${i}`, { channel: 'voice', from: SENDER, 'template-id': template }),
  );
  await delivery.acceptMany(rig.workspaceId, calls);
  const bucket = rig.db
    .selectFrom('sender_buckets')
    .select('calls')
    .where('workspace_id', '=', rig.workspaceId);
  const placed = async () => Object.keys((await bucket.executeTakeFirst())?.calls ?? {}).length;
  while (voice.taken.length < 2 || (await placed()) < concurrentCalls) await delay(20);
  process.stdout.write(`${rig.workspaceId}\n`);
}

const [databaseUrl = '', concurrentCalls, answerMs] = process.argv.slice(2);
void main(databaseUrl, Number(concurrentCalls), Number(answerMs));
