import { randomUUID } from 'node:crypto';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { TASK_QUEUES } from '../../src/domain/task-queues';
import { createLog } from '../../src/log';
import { installTemporalRuntime } from '../../src/temporal/runtime';
import { freshNamespace } from './namespaces';
import { temporalAddress } from './services';

// biome-ignore lint/suspicious/noExplicitAny: scripts answer as activities would.
export type Script = Record<string, (input: any) => unknown>;

/**
 * The real workflows on the real server, with activities that answer by a script: what real ones would answer after
 * hours, or at a moment that cannot be hit otherwise.
 */
export class ScriptedActivities {
  private constructor(
    readonly client: Client,
    private readonly connection: Connection,
    private readonly native: NativeConnection,
    private readonly workers: Worker[],
    private readonly running: Promise<unknown>[],
  ) {}

  /** `code` is the bundle of the workflows. */
  static async play(code: string, script: Script): Promise<ScriptedActivities> {
    installTemporalRuntime(createLog('silent'));
    const address = await temporalAddress();
    const { namespace } = await freshNamespace();
    const connection = await Connection.connect({ address });
    const native = await NativeConnection.connect({ address });
    const activities = Object.fromEntries(
      Object.entries(script).map(([name, answer]) => [name, async (input: unknown) => answer(input)]),
    );
    const workers = await Promise.all(
      Object.values(TASK_QUEUES).map((taskQueue) =>
        Worker.create({ connection: native, namespace, taskQueue, workflowBundle: { code }, activities }),
      ),
    );
    const running = workers.map((worker) => worker.run());
    return new ScriptedActivities(
      new Client({ connection, namespace }),
      connection,
      native,
      workers,
      running,
    );
  }

  start(name: string, taskQueue: string, input: unknown, workflowId: string = randomUUID()) {
    return this.client.workflow.start(name, { taskQueue, workflowId, args: [input] });
  }

  /** Resolves when the server has the signal, which a workflow that has ended does not take. */
  async signal(workflowId: string, signal: string): Promise<boolean> {
    const handle: WorkflowHandle = this.client.workflow.getHandle(workflowId);
    return handle.signal(signal).then(
      () => true,
      () => false,
    );
  }

  async end(): Promise<void> {
    for (const worker of this.workers) worker.shutdown();
    await Promise.all(this.running);
    await this.native.close();
    await this.connection.close();
  }
}
