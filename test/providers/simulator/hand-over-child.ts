import { writeSync } from 'node:fs';
import type { HandOver } from '../../../src/providers/provider';
import { openSimulator } from '../../../src/providers/simulator/simulator';

/**
 * Hands batches over to the simulator until it is killed, and says after each answer which one it was:
 * what a dispatcher does, reduced to what a kill can hurt. Run from the build.
 */
const BATCH_SIZE = 500;

export function batchOf(batch: number): HandOver[] {
  return Array.from({ length: BATCH_SIZE }, (_, i) => {
    const n = batch * BATCH_SIZE + i;
    return {
      id: `msg_${n}`,
      uid: `run.sms.${n}.1`,
      channel: 'sms',
      // Nobody that a draw may refuse: every message of an answered batch must be in the record.
      to: '+12125550190',
      from: '12345',
      text: 'Hello',
      attempt: 1,
    };
  });
}

async function main(directory: string, firstBatch: number): Promise<void> {
  const simulator = await openSimulator({ channel: 'sms', directory, seed: 1, latencyMs: 2 });
  await simulator.start(async () => undefined);
  for (let batch = firstBatch; ; batch++) {
    await simulator.handOver(batchOf(batch));
    writeSync(1, `${batch}\n`);
  }
}

if (require.main === module) void main(process.argv[2] as string, Number(process.argv[3]));
