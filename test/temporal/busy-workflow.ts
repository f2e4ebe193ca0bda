import { CancellationScope, sleep } from '@temporalio/workflow';

/** Keeps its thread busy from its second task on, in many small steps as workflows have them. */
export async function busy(steps: number): Promise<number> {
  await sleep(1);
  let done = 0;
  while (done < steps) done = await CancellationScope.cancellable(async () => done + 1);
  return done;
}
