/** Temporal task queues, one per kind of work. */
export const TASK_QUEUES = {
  /** Workflows of campaigns, and the activities that use only our database. */
  orchestrator: 'fanfare-orchestrator',
  /** Durable sends: their workflows and their activities. A queue is served in the order in which its tasks came, and a
   * backend may ask for thousands of sends within seconds, each of which has several tasks. */
  durableSends: 'fanfare-durable-sends',
  /** Pages of email and SMS. */
  sender: 'fanfare-sender',
  /** Calls: their workflows and their activities. */
  voice: 'fanfare-voice',
} as const;

export type QueueName = keyof typeof TASK_QUEUES;

/** The roles that a worker process may have (api.md 13: `worker --role`), and the queues that each serves. */
export const QUEUES_OF = {
  orchestrator: ['orchestrator', 'durableSends'],
  sender: ['sender'],
  voice: ['voice'],
} as const satisfies Record<string, readonly QueueName[]>;

export type Role = keyof typeof QUEUES_OF;
export const ROLES = Object.keys(QUEUES_OF) as Role[];
