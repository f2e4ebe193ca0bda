/** A process that may place two calls of a sender at once and has more of them, until it is killed. */
import { openStorage } from '../../../src/storage/storage';
import { addTemplate, createOutboxRig } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';

const SENDER = '+12025550100';

async function main(databaseUrl: string): Promise<void> {
  const rig = await createOutboxRig(await openStorage({ databaseUrl }));
  // It is busy with the first two, so that further ones wait for it with their places.
  const voice = new ScriptedProvider('voice', { answersEach: true, parallel: 2, batchMax: 2 });
  voice.script = voice.hang;
  const { delivery } = await rig.process({ voice });
  await delivery.senderLimits.put(
    rig.workspaceId,
    { channel: 'voice', sender: SENDER },
    { concurrentCalls: 2 },
  );
  const template = await addTemplate(rig.db, rig.workspaceId, { channel: 'voice', body: '<Response/>' });
  const calls = Array.from({ length: 6 }, (_, i) =>
    rig.sms(`v${i}`, { channel: 'voice', from: SENDER, 'template-id': template }),
  );
  await delivery.acceptMany(rig.workspaceId, calls);
  while (voice.taken.length < 2) await new Promise((done) => setTimeout(done, 20));
  process.stdout.write(`${rig.workspaceId}\n`);
}

void main(process.argv[2] ?? '');
