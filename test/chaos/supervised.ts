import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

/** A process that is started again whenever it ends, as a container's restart policy would. */
export class Supervised {
  private child: ChildProcess | undefined;
  private wanted = false;
  /** Not before, after a kill. */
  private notBefore = 0;
  /** Ends that nobody asked for. */
  exits = 0;
  private tail = '';

  constructor(
    readonly name: string,
    private readonly command: string,
    private readonly args: string[],
    private readonly options: SpawnOptions,
  ) {
    process.once('exit', () => this.signal('SIGKILL'));
  }

  start(): void {
    this.wanted = true;
    // A group of its own: a kill takes what it has started with it.
    const child = spawn(this.command, this.args, {
      ...this.options,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    const hear = (chunk: Buffer): void => {
      this.tail = (this.tail + chunk.toString()).slice(-6_000);
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    child.once('exit', () => void this.ended());
  }

  /** The last that it said. */
  get words(): string {
    return this.tail;
  }

  kill(forMs: number): void {
    this.notBefore = Date.now() + forMs;
    this.signal('SIGKILL');
  }

  stall(): void {
    this.signal('SIGSTOP');
  }

  goOn(): void {
    this.signal('SIGCONT');
  }

  async stop(): Promise<void> {
    this.wanted = false;
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((done) => child.once('exit', done));
    this.signal('SIGKILL');
    await gone;
  }

  private async ended(): Promise<void> {
    const isKill = this.notBefore > 0;
    if (!isKill && this.wanted) this.exits += 1;
    await delay(Math.max(100, this.notBefore - Date.now()));
    this.notBefore = 0;
    if (this.wanted) this.start();
  }

  private signal(signal: NodeJS.Signals): void {
    const { child } = this;
    if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return;
    try {
      process.kill(-child.pid, signal);
    } catch {
      // Gone a moment ago.
    }
  }
}
