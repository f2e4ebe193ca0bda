import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { idOfLine, readChunk, recordFile } from '../../src/providers/simulator/simulator-record';
import type { Place } from '../support/fanfare-process';
import { cpuOfInstallation, postmasterOf, processesBelow } from './process-cpu';

/** What a sample of the soak holds of the machine and the database. Memory is zero while the process is away. */
export interface Reading {
  memoryMb: number;
  temporalMb: number;
  postgresMb: number;
  /** Of our process, Temporal and PostgreSQL together since the reading before, in percent of a core. */
  cpuPercent: number;
  connections: number;
  databaseMb: number;
  deadRows: number;
  /** For a hundred rows that live. PostgreSQL lets dead rows grow with a table, to a fifth of it. */
  deadPercent: number;
  handOvers: number;
}

/** Takes readings of one installation, whose process may be another one each time. */
export class Readings {
  private postmaster: number | undefined;
  private before = { pid: 0, ms: 0, at: 0 };
  private recordRead = 0;
  private handOvers = 0;

  constructor(
    private readonly place: Place,
    private readonly databaseUrl: string,
  ) {}

  async take(pid: number): Promise<Reading> {
    this.postmaster ??= await postmasterOf(this.databaseUrl);
    return {
      ...this.memory(pid),
      cpuPercent: this.cpuPercent(pid),
      ...(await this.database()),
      handOvers: this.countHandOvers(),
    };
  }

  private memory(pid: number): Pick<Reading, 'memoryMb' | 'temporalMb' | 'postgresMb'> {
    const temporal = processesBelow(pid).filter(({ name }) => name.startsWith('temporal'));
    const postgres =
      this.postmaster === undefined
        ? []
        : [this.postmaster, ...processesBelow(this.postmaster).map((one) => one.pid)];
    return {
      memoryMb: Math.round(memoryKb(pid, 'Rss') / 1024),
      temporalMb: Math.round(sum(temporal.map((one) => memoryKb(one.pid, 'Rss'))) / 1024),
      // A share of what sessions have in common, so that the shared buffers count once.
      postgresMb: Math.round(sum(postgres.map((one) => memoryKb(one, 'Pss'))) / 1024),
    };
  }

  /** Zero in a reading before which the process was killed, because nothing counts what the former one has used. */
  private cpuPercent(pid: number): number {
    const { before } = this;
    const now = { pid, ms: 0, at: Date.now() };
    try {
      now.ms = sum(Object.values(cpuOfInstallation([{ name: 'product', pid }], this.postmaster)));
    } catch {
      now.pid = 0;
    }
    this.before = now;
    if (now.pid === 0 || now.pid !== before.pid) return 0;
    return Math.round(((now.ms - before.ms) * 100) / (now.at - before.at));
  }

  private async database(): Promise<
    Pick<Reading, 'connections' | 'databaseMb' | 'deadRows' | 'deadPercent'>
  > {
    const client = new Client({ connectionString: this.databaseUrl });
    await client.connect();
    try {
      const { rows } = await client.query<{ connections: number; size: number; dead: number; live: number }>(
        `select pg_database_size(current_database())::float8 as size,
           (select count(*)::int from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid()) as connections,
           sum(n_dead_tup)::float8 as dead, sum(n_live_tup)::float8 as live
         from pg_stat_user_tables`,
      );
      const [row] = rows;
      return {
        connections: row?.connections ?? 0,
        databaseMb: Math.round((row?.size ?? 0) / 1e6),
        deadRows: row?.dead ?? 0,
        deadPercent: Math.round(((row?.dead ?? 0) * 1_000) / Math.max(1, row?.live ?? 0)) / 10,
      };
    } finally {
      await client.end();
    }
  }

  /** Only what was appended since the reading before is read, so that a reading costs the same after an hour. */
  private countHandOvers(): number {
    let descriptor: number;
    try {
      descriptor = openSync(recordFile(join(this.place.dataDir, 'simulator'), 'sms'), 'r');
    } catch {
      return this.handOvers;
    }
    try {
      for (;;) {
        const { lines, next } = readChunk(descriptor, this.recordRead);
        if (next === this.recordRead) return this.handOvers;
        this.recordRead = next;
        this.handOvers += lines.filter((line) => idOfLine(line) !== undefined).length;
      }
    } finally {
      closeSync(descriptor);
    }
  }
}

function memoryKb(pid: number, kind: 'Rss' | 'Pss'): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(new RegExp(`^${kind}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
