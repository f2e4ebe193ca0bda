import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { createStatements } from './embedded-statements';
import { isBeyondRepair } from './engine-failure';
import { PLANNER_SETTINGS } from './planner-settings';

/** The thread that owns the embedded database: takes one statement a message, answers in order. */

export interface EmbeddedRequest {
  /** 0 asks the thread to close the database and end. */
  id: number;
  text: string;
  parameters: (string | null)[];
}

export interface EmbeddedAnswer {
  id: number;
  command: string;
  rowCount: number;
  rows: unknown[];
  error?: { message: string; code?: string; constraint?: string; detail?: string };
}

const INT8_OID = 20;
/** Often enough that dead rows of a busy hour do not double the tables; a vacuum takes about 0.25 s. */
const MAINTENANCE_INTERVAL_MS = 5 * 60_000;

const port = parentPort;
if (!port) throw new Error('embedded-worker runs as a worker thread only');

const opening = PGlite.create(workerData.directory as string, { parsers: { [INT8_OID]: Number } }).then(
  async (database) => {
    for (const [name, value] of Object.entries(PLANNER_SETTINGS)) {
      await database.exec(`set ${name} = '${value}'`);
    }
    return { database, statements: createStatements(database) };
  },
);
// The first request reports a failed opening; without this the thread would end before it could.
opening.catch(() => undefined);

let busySinceMaintenance = false;
let inTransaction = false;
let isOpen = false;
let queue: Promise<void> = Promise.resolve();
port.on('message', (request: EmbeddedRequest) => {
  queue = queue.then(() => (request.id === 0 ? close() : run(request)));
});

const maintenance = setInterval(() => {
  queue = queue.then(async () => {
    if (!busySinceMaintenance || inTransaction) return;
    const { database } = await opening;
    try {
      await database.exec('vacuum (analyze)');
      await database.exec('checkpoint');
      busySinceMaintenance = false;
    } catch (error) {
      // For want of room, say; the next one may find some.
      if (isBeyondRepair(error)) throw error;
    }
  });
}, MAINTENANCE_INTERVAL_MS);
maintenance.unref();

async function run(request: EmbeddedRequest): Promise<void> {
  const command = firstWord(request.text);
  const answer: EmbeddedAnswer = { id: request.id, command, rowCount: 0, rows: [] };
  try {
    const { statements } = await opening;
    isOpen = true;
    const result = await statements.run(request.text, request.parameters);
    answer.rows = result.rows;
    answer.rowCount = result.affectedRows ?? result.rows.length;
    if (command !== 'SELECT') busySinceMaintenance = true;
    if (command === 'BEGIN') inTransaction = true;
    if (command === 'COMMIT' || command === 'ROLLBACK') inTransaction = false;
  } catch (error) {
    const { message, code, constraint, detail } = error as Error & Record<string, string>;
    answer.error = { message, code, constraint, detail } as EmbeddedAnswer['error'] & object;
    // Uncaught it ends the thread, of which everybody who waits is told.
    if (isOpen && isBeyondRepair(error)) throw error;
  }
  port?.postMessage(answer);
}

async function close(): Promise<void> {
  clearInterval(maintenance);
  await opening.then(({ database }) => database.close()).catch(() => undefined);
  process.exit(0);
}

function firstWord(text: string): string {
  const match = /^\s*([a-z]+)/i.exec(text);
  return (match?.[1] ?? '').toUpperCase();
}
