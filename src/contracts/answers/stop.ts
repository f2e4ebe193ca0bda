import { z } from 'zod';
import { success, time } from './envelope';

/** What the stop's endpoints answer (api.md 19), and what stands in details and beside `data` in lists. */
const stop = z
  .strictObject({
    since: time,
    by: z.string().nullable().meta({ description: 'The user or the client that stopped the workspace.' }),
    reason: z.string(),
  })
  .meta({ id: 'Stop' });

export const stopped = stop.nullable().meta({
  description: 'Set while the workspace is stopped: nothing of it is handed to any provider.',
});

export const begunStop = success(stop);
export const currentStop = success(stopped);
export const endedStop = success(z.null());
