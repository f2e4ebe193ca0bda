import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { writePrivateFile } from '../credentials/private-file';
import { newId } from '../storage/new-id';

/**
 * How far the demo is, written to disk after every step. If a step was cut off between its request and this
 * record, the next start finds its result by name. Therefore the name is chosen before the first request.
 */
const schema = z.object({
  /** The demo belongs to this workspace; in another database it would mean nothing. */
  workspaceId: z.string(),
  stage: z.enum(['preparing', 'running', 'finished']),
  name: z.string(),
  listId: z.string().optional(),
  imported: z.boolean().default(false),
  templates: z.record(z.string(), z.object({ id: z.string(), version: z.number() })).default({}),
  campaignId: z.string().optional(),
});

export type DemoState = z.infer<typeof schema>;

export interface DemoStateFile {
  read(): Promise<DemoState | undefined>;
  write(state: DemoState): Promise<void>;
}

export function demoStateFile(file: string): DemoStateFile {
  return {
    async read() {
      try {
        return schema.safeParse(JSON.parse(await readFile(file, 'utf8'))).data;
      } catch {
        // There is no record, or an unreadable one: the demo begins anew under a new name.
        return undefined;
      }
    },
    write: (state) => writePrivateFile(file, `${JSON.stringify(state, null, 2)}\n`),
  };
}

/** Ids sort by time, so that a later demo is listed after an earlier one; the end of the id is random. */
export function newDemo(workspaceId: string): DemoState {
  const run = newId('demo').slice(-6);
  return { workspaceId, stage: 'preparing', name: `Demo ${run}`, imported: false, templates: {} };
}
