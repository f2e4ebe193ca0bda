import { availableParallelism, totalmem } from 'node:os';

const MIB = 2 ** 20;

export interface Machine {
  memoryBytes: number;
  processors: number;
}

/** Memory and processors of this machine, or of the container that limits this process. */
export function thisMachine(): Machine {
  const confined = process.constrainedMemory();
  const memoryBytes = confined > 0 ? Math.min(confined, totalmem()) : totalmem();
  return { memoryBytes, processors: availableParallelism() };
}

/** Settings of the managed server. Each value that differs from PostgreSQL's default has its reason. */
export function serverSettings(
  { memoryBytes, processors }: Machine,
  { socketDirectory, major }: { socketDirectory: string; major: number },
): Record<string, string> {
  const memory = memoryBytes / MIB;
  return {
    // Reached only by its socket, whose folder is closed to other users.
    listen_addresses: '',
    port: String(PORT),
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    // Accepted messages survive a power cut.
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    // A sixteenth, because this program and Temporal's server share the machine, and the system caches files
    // too.
    shared_buffers: `${clamp(memory / 16, 64, 512)}MB`,
    effective_cache_size: `${clamp(memory / 2, 128, 65_536)}MB`,
    maintenance_work_mem: `${clamp(memory / 32, 32, 256)}MB`,
    // Twelve for each process, more for `serve` and `worker` beside it, and some for people with psql.
    max_connections: '100',
    // A killed server reads the log since the last checkpoint before it answers: seconds for this much.
    max_wal_size: '1GB',
    min_wal_size: '80MB',
    checkpoint_timeout: '5min',
    checkpoint_completion_target: '0.9',
    autovacuum: 'on',
    autovacuum_max_workers: String(clamp(processors / 2, 1, 3)),
    // Campaigns run many short statements concurrently. A parallel one would take their processors, and its
    // shared memory is more than the 64 MiB that a container has in /dev/shm.
    max_parallel_workers_per_gather: '0',
    // Saves a process, because there is no replication.
    max_logical_replication_workers: '0',
    // From 18 on, three processes read ahead for long scans; our statements have none.
    ...(major >= 18 ? { io_method: 'sync' } : {}),
    log_destination: 'stderr',
    logging_collector: 'off',
    log_checkpoints: 'off',
    log_line_prefix: '',
    // The caller reports errors of statements, so the server logs only the levels above, of which `log` is the first. Errors
    // and their details name values of rows, which are addresses, and what the server says goes to the program's log.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_timezone: 'UTC',
  };
}

/** Part of the socket's name; the server does not listen on this port. */
export const PORT = 5432;

function clamp(value: number, least: number, most: number): number {
  return Math.round(Math.min(Math.max(value, least), most));
}
