/** Temporal task queues, one per kind of worker (api.md 13: `worker --role`). */
export const TASK_QUEUES = {
  /** Workflows, and the activities that use only our database. */
  orchestrator: 'fanfare-orchestrator',
  /** Pages of email and SMS. */
  sender: 'fanfare-sender',
  /** Calls: their workflows and their activities. */
  voice: 'fanfare-voice',
} as const;

/** The roles that a worker process may have. */
export type Role = keyof typeof TASK_QUEUES;
export const ROLES = Object.keys(TASK_QUEUES) as Role[];
