import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { COMMON_OPTIONS } from '../../workers/run';

const STEPS = 40_000;

/** A process with a worker as ours are, which runs one busy workflow and prints "busy" before and "done" after it. */
async function main([address = '', namespace = '']: string[]): Promise<void> {
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    ...{ connection, namespace, taskQueue: 'busy', ...COMMON_OPTIONS },
    workflowsPath: require.resolve('./busy-workflow'),
  });
  const client = new Client({ connection: await Connection.connect({ address }), namespace });
  const result = worker.runUntil(
    client.workflow.execute('busy', {
      ...{ taskQueue: 'busy', workflowId: 'busy', args: [STEPS] },
      // So that the server does not give the task to a worker a second time meanwhile.
      workflowTaskTimeout: '2 minutes',
    }),
  );
  process.stdout.write('busy\n');
  process.stdout.write((await result) === STEPS ? 'done\n' : 'wrong\n');
}

void main(process.argv.slice(2)).then(() => process.exit(0));
