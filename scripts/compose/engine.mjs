import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const RESTART_MS = 500;
const COMPLETION_LIMIT_MS = 300_000;

/**
 * Starts services in the order that they ask for, looks after their health, starts them again as they wish, and kills them.
 * `prepare` makes what is to run of a service: `{ command, env, cwd, user, probe }`.
 */
export class Engine {
  #services;
  #prepare;
  #say;
  #logs;
  #instances = new Map();
  #isStopping = false;

  constructor({ services, prepare, say, logs }) {
    this.#services = new Map(services.map((service) => [service.name, service]));
    this.#prepare = prepare;
    this.#say = say;
    this.#logs = logs;
    mkdirSync(logs, { recursive: true });
  }

  /** Also called with names of further instances, by which service each one is. */
  async up(scaled = {}) {
    const started = new Map();
    const start = (name) => {
      if (!started.has(name)) started.set(name, this.#start(name, start));
      return started.get(name);
    };
    await Promise.all([...this.#services.keys()].map(start));
    for (const [name, service] of Object.entries(scaled)) await this.#startInstance(name, service);
  }

  async #start(name, start) {
    const service = this.#services.get(name);
    for (const { service: other, condition } of service.dependsOn) {
      await start(other);
      if (condition === 'service_healthy') await this.untilHealthy(other);
      if (condition === 'service_completed_successfully') await this.#untilCompleted(other);
    }
    await this.#startInstance(name, name);
  }

  async #startInstance(name, of) {
    const service = this.#services.get(of);
    const instance = {
      name,
      service,
      spawned: 0,
      exits: [],
      pids: [],
      ...(await this.#prepare(service, name)),
    };
    this.#instances.set(name, instance);
    this.#spawn(instance);
  }

  #spawn(instance) {
    const { command, env, cwd, user, name } = instance;
    const log = createWriteStream(join(this.#logs, `${name}.log`), { flags: 'a' });
    const [program, ...args] = command;
    // In a group of its own, which is killed as a container is: everything in it at once.
    const child = spawn(program, args, {
      ...{ cwd, env, ...user, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    instance.child = child;
    instance.spawned++;
    instance.pids.push(child.pid);
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    child.once('error', (error) => log.write(`${error.message}\n`));
    instance.exited = new Promise((done) => {
      child.once('close', (code, signal) => {
        log.end();
        instance.exits.push(code ?? signal);
        done(code);
        void this.#restart(instance, code);
      });
    });
  }

  async #restart(instance, code) {
    const [policy, most = Number.POSITIVE_INFINITY] = instance.service.restart.split(':');
    const isWished =
      policy === 'unless-stopped' ||
      policy === 'always' ||
      (policy === 'on-failure' && code !== 0 && instance.spawned <= Number(most));
    if (this.#isStopping || !isWished) return;
    await delay(RESTART_MS);
    if (!this.#isStopping) this.#spawn(instance);
  }

  /** When its health check has passed. */
  async untilHealthy(name) {
    const { service, probe } = this.#instances.get(name);
    const deadline = Date.now() + service.healthcheck.limitMs;
    while (!(await probe())) {
      if (Date.now() > deadline) throw new Error(`${name} is not healthy; ${this.#logOf(name)} says why`);
      await delay(service.healthcheck.intervalMs / 4);
    }
  }

  async #untilCompleted(name) {
    const instance = this.#instances.get(name);
    const deadline = Date.now() + COMPLETION_LIMIT_MS;
    while (instance.exits.at(-1) !== 0) {
      const isOver = instance.exits.length > 0 && instance.service.restart === 'no';
      if (isOver || Date.now() > deadline) {
        throw new Error(`${name} has not ended well (${instance.exits}); ${this.#logOf(name)} says why`);
      }
      await delay(100);
    }
  }

  #logOf = (name) => join(this.#logs, `${name}.log`);

  /** kill -9 of one instance, as it runs. Answers whether there was one. */
  async kill(name) {
    const instance = this.#instances.get(name);
    if (!instance || instance.child.exitCode !== null || instance.child.signalCode !== null) return false;
    const { exited } = instance;
    process.kill(-instance.child.pid, 'SIGKILL');
    await exited;
    return true;
  }

  /** Until a killed instance runs again. */
  async untilRestarted(name, spawned) {
    const instance = this.#instances.get(name);
    const deadline = Date.now() + COMPLETION_LIMIT_MS;
    while (instance.spawned <= spawned) {
      if (Date.now() > deadline) throw new Error(`${name} was not started again`);
      await delay(50);
    }
    if (instance.service.healthcheck) await this.untilHealthy(name);
  }

  /** The ids that an instance has had so far. */
  pids = (name) => this.#instances.get(name)?.pids ?? [];
  spawned = (name) => this.#instances.get(name)?.spawned ?? 0;
  exits = (name) => this.#instances.get(name)?.exits ?? [];

  /** Runs a job that has ended once more. */
  async again(name) {
    const instance = this.#instances.get(name);
    this.#spawn(instance);
    return instance.exited;
  }

  /** Stops all in order, those first on which no other depends; answers the exit codes. */
  async stop() {
    this.#isStopping = true;
    const codes = {};
    for (const { name, child, exited, service } of [...this.#instances.values()].reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const started = Date.now();
      // SIGINT is PostgreSQL's stop signal, as its image says.
      child.kill(service.image.startsWith('postgres:') ? 'SIGINT' : 'SIGTERM');
      const grace = delay(service.stopGraceMs, 'late', { ref: false });
      const ended = await Promise.race([exited, grace]);
      if (ended === 'late') process.kill(-child.pid, 'SIGKILL');
      codes[name] = await exited;
      this.#say(`${name} stopped with ${codes[name]} after ${((Date.now() - started) / 1_000).toFixed(1)} s`);
    }
    return codes;
  }

  /** Leaves nothing behind when this process ends in the middle. */
  abandon() {
    this.#isStopping = true;
    for (const { child } of this.#instances.values()) {
      try {
        if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has ended meanwhile.
      }
    }
  }
}
