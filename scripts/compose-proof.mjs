import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { Backend, startCampaign } from './compose/campaign.mjs';
import { readCompose } from './compose/compose-file.mjs';
import { Confinement } from './compose/confinement.mjs';
import { Engine } from './compose/engine.mjs';
import { bound, imageOf, searchPath, shims } from './compose/images.mjs';
import { Places, withPaths } from './compose/places.mjs';
import { prepare } from './prepare.mjs';

/**
 * `npm run compose:proof`: runs what docker-compose.yml describes without a container engine. Each service's command runs
 * on this machine with its environment, PostgreSQL and Temporal included; a campaign goes through `serve` and two workers;
 * every service is killed once while it does. It ends with 0 if no recipient was lost and none was sent to twice.
 *
 * Options: `--recipients`, `--rate` (a second), `--keep` (the logs).
 */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const SECOND = { 'worker-2': 'worker' };
/** Killed one after the other, while messages are left to send. */
const KILLED = ['serve', 'worker', 'worker-2', 'temporal', 'postgresql', 'temporal-ui'];
const JOB_KILLED_AFTER_MS = 30;
const END_LIMIT_MS = 600_000;
/** What no recipient of a campaign that has ended may be. */
const OPEN = ['pending', 'waiting', 'sending', 'accepted'];

const run = promisify(execFile);
const say = (line) => process.stdout.write(`${line}\n`);

async function main() {
  const { values } = parseArgs({
    options: {
      recipients: { type: 'string', default: '4500' },
      rate: { type: 'string', default: '50' },
      keep: { type: 'boolean', default: false },
    },
  });
  await prepare();
  const work = mkdtempSync(join(tmpdir(), 'fanfare-compose-'));
  // PostgreSQL may have to run as another user, and pass through.
  chmodSync(work, 0o711);
  let engine;
  const abandon = (signal) => {
    engine?.abandon();
    process.exit(signal === 'SIGINT' ? 130 : 143);
  };
  process.once('SIGINT', abandon).once('SIGTERM', abandon);
  let isRight = false;
  try {
    const env = { FANFARE_SECRETS_DIR: await makeSecrets(work), ...process.env };
    const services = readCompose(join(ROOT, 'docker-compose.yml'), env);
    const machine = await describeMachine(work, services);
    const confinement = new Confinement();
    engine = new Engine({
      services,
      say,
      logs: join(work, 'logs'),
      prepare: (service, name) => whatRuns(service, name, machine, confinement),
    });
    const killedJobs = await bringUp(engine, services, machine);
    const found = await prove(engine, machine, {
      recipients: Number(values.recipients),
      perSecond: Number(values.rate),
    });
    Object.assign(found, { killedJobs, codes: await engine.stop() });
    for (const one of confinement.missing) say(`not enforced here: ${one}`);
    isRight = conclude(found);
  } finally {
    engine?.abandon();
    if (isRight && !values.keep) rmSync(work, { recursive: true, force: true });
    else say(`The logs are in ${join(work, 'logs')}`);
  }
  process.exit(isRight ? 0 : 1);
}

/** As an operator makes them, in a folder that the users of other services may pass through. */
async function makeSecrets(work) {
  const folder = join(work, 'secrets');
  const env = { ...process.env, FANFARE_SECRETS_DIR: folder };
  await run('sh', [join(ROOT, 'docker', 'make-secrets.sh')], { env });
  chmodSync(folder, 0o711);
  return folder;
}

/** Programs and folders of this machine, as images.mjs asks for them. */
async function describeMachine(work, services) {
  const product = createRequire(pathToFileURL(join(ROOT, 'dist', 'src', 'main.js')));
  const { cacheDirectory, findTemporalExecutable } = product('./temporal/executable');
  const { findPostgresBinaries } = product('./storage/managed/find-binaries');
  const { chooseRunAs } = product('./storage/managed/run-as');
  const { readRecord } = product('./providers/simulator/simulator-record');
  const cache = cacheDirectory(process.env);
  const places = new Places(1 + (process.pid % 250));
  for (const name of [...services.map((service) => service.name), ...Object.keys(SECOND)])
    places.address(name);
  const temporal = await findTemporalExecutable({
    cliPath: process.env.TEMPORAL_CLI_PATH,
    cacheDir: cache,
    env: process.env,
    onProgress: say,
  });
  const postgres = await findPostgresBinaries({
    env: { ...process.env, FANFARE_POSTGRES_BIN: process.env.FANFARE_POSTGRES_BIN || systemPostgres() },
  });
  for (const line of places.lines()) say(line);
  say(`program postgres -> ${postgres.version}, temporal -> ${temporal.version}`);
  const shimFolder = join(work, 'shims');
  const isThere = (program) =>
    (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));
  shims(shimFolder, { isThere, say });
  const volume = (name) => {
    const folder = join(work, 'volumes', name);
    mkdirSync(folder, { recursive: true });
    return folder;
  };
  return {
    ...{ root: ROOT, work, places, postgres, product, shimFolder, volume, readRecord, say },
    cacheDirectory: cache,
    temporal: temporal.path,
    uiPort: await freePort(),
    async runAs(data) {
      const user = await chooseRunAs({
        dataDir: dirname(data),
        data,
        postgres: postgres.postgres,
        env: process.env,
      });
      if (user.uid !== undefined) await run('chown', ['-R', `${user.uid}:${user.gid}`, data]);
      await run('chmod', ['0700', data]);
      return user;
    },
  };
}

/** The newest of Debian's, whose folder also has the programs that health checks call. */
function systemPostgres() {
  const folder = '/usr/lib/postgresql';
  const majors = existsSync(folder) ? readdirSync(folder).map(Number).filter(Boolean) : [];
  return majors.length > 0 ? join(folder, String(Math.max(...majors)), 'bin') : undefined;
}

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** A service as a process of this machine: its command and environment, with names and paths of the network replaced. */
async function whatRuns(service, name, machine, confinement) {
  const { places, work } = machine;
  const own = places.address(name);
  const writable = [];
  const mounted = [];
  for (const { source, target, isReadOnly } of service.mounts) {
    if (isFile(source)) continue;
    const folder = machine.volume(source);
    mounted.push([target, folder]);
    if (!isReadOnly) writable.push(folder);
  }
  const secrets = service.mounts.filter(({ target }) => target.startsWith('/run/secrets/'));
  const image = await imageOf(service, {
    ...machine,
    volume: (_, target) => mounted.find(([place]) => place === target)[1],
    secret: (path) => resolve(machine.root, secrets.find(({ target }) => target === path).source),
  });
  const replaced = (text) => places.value('', text, { own, paths: image.paths });
  for (const mount of service.mounts.filter(({ source }) => isFile(source)))
    mounted.push([mount.target, bound(mount, { root: machine.root, work, replaced })]);
  const paths = [...mounted, ...image.paths];
  const scratch = join(work, 'tmp', name);
  mkdirSync(scratch, { recursive: true });
  const variables = { ...image.variables, ...service.environment };
  const env = {
    PATH: searchPath(machine.shimFolder, image.path),
    ...{ HOME: scratch, TMPDIR: scratch },
    ...Object.fromEntries(
      Object.entries(variables).map(([key, value]) => [key, places.value(key, value, { own, paths })]),
    ),
  };
  for (const [key, value] of Object.entries(variables)) {
    if (env[key] !== value) say(`${name}: ${key}=${shown(value)} -> ${shown(env[key])}`);
  }
  for (const [from, to] of paths) say(`${name}: ${from} -> ${to}`);
  const command = image.command.map((word) => withPaths(word, paths));
  const around = { prefix: image.prefix, writable: [...writable, scratch] };
  return {
    command: confinement.around(service, command, around),
    env,
    cwd: image.cwd,
    user: image.user,
    probe: () => probe(service, { own, env, cwd: image.cwd }),
  };
}

/** Of this machine, where other sources are names of volumes. */
const isFile = (source) => /^[./]/.test(source);

const shown = (text) => text.replace(/(:\/\/[^:/@]+:)[^@]+@/, '$1…@');

/** The health check as the file has it; the machine's own address is the service's. */
async function probe({ healthcheck }, { own, env, cwd }) {
  const [kind, ...words] = healthcheck.test.map((word) => word.replace(/127\.0\.0\.1|localhost/g, own));
  const [program, ...args] = kind === 'CMD-SHELL' ? ['sh', '-c', ...words] : words;
  try {
    await run(program, args, { env, cwd, timeout: healthcheck.timeoutMs });
    return true;
  } catch {
    return false;
  }
}

async function bringUp(engine, services, machine) {
  const jobs = services.filter(({ restart }) => restart.startsWith('on-failure')).map(({ name }) => name);
  const killed = [];
  let isUp = false;
  const killing = jobs.map(async (job) => {
    while (!isUp && engine.spawned(job) === 0) await delay(10);
    await delay(JOB_KILLED_AFTER_MS);
    if (!(await engine.kill(job))) return;
    killed.push(job);
    say(`killed ${job} in its first run`);
  });
  await engine.up(SECOND);
  isUp = true;
  await Promise.all(killing);
  await engine.untilHealthy('serve');
  for (const job of jobs) {
    const code = await engine.again(job);
    say(`${job} once more: ended with ${code}`);
    if (code !== 0) throw new Error(`${job} is not harmless when its work is done`);
  }
  const page = `http://${machine.places.address('temporal-ui')}:${machine.uiPort}/`;
  await until('the web UI answers', async () => (await fetch(page)).ok);
  return killed;
}

/** The campaign, and what became of it. */
async function prove(engine, machine, { recipients, perSecond }) {
  const data = machine.volume('fanfare-data');
  const credentials = JSON.parse(readFileSync(join(data, 'credentials.json'), 'utf8'));
  const backend = new Backend(`http://${machine.places.address('serve')}:8080`, credentials);
  const id = await startCampaign(backend, { recipients, perSecond });
  say(`campaign ${id}: ${recipients} recipients at ${perSecond} a second`);
  const left = async () => {
    const { total = 0, pending = 0 } = (await backend.detail(id)).counts.sms ?? {};
    return recipients - total + pending;
  };
  await until('the first messages have left', async () => (await left()) < recipients);
  const killed = [];
  for (const name of KILLED) {
    const pending = await left();
    if (pending === 0) throw new Error(`Nothing was left to send when ${name} was to be killed`);
    const spawned = engine.spawned(name);
    const at = Date.now();
    if (!(await engine.kill(name))) throw new Error(`${name} did not run when it was to be killed`);
    await engine.untilRestarted(name, spawned);
    const before = await left();
    killed.push(name);
    say(
      `killed ${name} with ${pending} left; well again after ${((Date.now() - at) / 1_000).toFixed(1)} s, ${before} left`,
    );
    // Each kill meets an installation that sends.
    if (before > 0) await until('messages leave again', async () => (await left()) < before);
  }
  const ends = ['completed', 'canceled', 'failed'];
  await until(
    'the campaign has ended',
    async () => ends.includes((await backend.detail(id)).phase),
    END_LIMIT_MS,
  );
  const { phase, counts } = await backend.detail(id);
  const workers = await workersOf(engine, machine);
  const record = machine.readRecord(join(data, 'simulator'), 'sms');
  return { phase, counts: counts.sms, record, recipients, killed, workers };
}

/** Which workers have sent pages, as the histories tell by process. */
async function workersOf(engine, { product, places }) {
  const { Client, Connection } = product('@temporalio/client');
  const connection = await Connection.connect({ address: `${places.address('temporal')}:7233` });
  const { workflow } = new Client({ connection });
  const pids = new Set();
  for await (const { workflowId, runId } of workflow.list()) {
    const { events } = await workflow.getHandle(workflowId, runId).fetchHistory();
    for (const { activityTaskStartedEventAttributes: started } of events ?? []) {
      const pid = /^(\d+)@/.exec(started?.identity ?? '')?.[1];
      if (pid) pids.add(Number(pid));
    }
  }
  await connection.close();
  return ['worker', ...Object.keys(SECOND)].filter((name) => engine.pids(name).some((pid) => pids.has(pid)));
}

function conclude({ phase, counts, record, recipients, killed, killedJobs, workers, codes }) {
  const open = OPEN.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const ended = Object.entries(counts)
    .filter(([state]) => state !== 'total' && !OPEN.includes(state))
    .reduce((sum, [, count]) => sum + count, 0);
  const twice = record.duplicates.length + record.duplicateUids.length;
  // Whom the ledger has without an end, or with an end that the carrier knows nothing of.
  const unreached = (counts.rejected ?? 0) + (counts.failed ?? 0) + (counts.unknown ?? 0);
  const reached = record.distinct;
  const lost = Math.max(0, recipients - ended, recipients - reached - unreached);
  say(`activities were done by ${workers.join(' and ')}`);
  say(`killed once: ${[...killedJobs, ...killed].join(', ')}`);
  say(
    `${phase}: ${recipients} recipients, ${reached} handed over, ${counts.unknown} unknown, ${open} open, ${lost} lost, ${twice} twice`,
  );
  const notInOrder = Object.entries(codes).filter(
    ([name, code]) => /^(serve|worker)/.test(name) && code !== 0,
  );
  for (const [name, code] of notInOrder) say(`${name} did not stop in order: ${code}`);
  const isShared = workers.length === 1 + Object.keys(SECOND).length;
  return phase === 'completed' && lost + twice + open === 0 && notInOrder.length === 0 && isShared;
}

async function until(what, isSo, limitMs = 120_000) {
  const deadline = Date.now() + limitMs;
  while (!(await Promise.resolve(isSo()).catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`Not so after ${limitMs / 1_000} s: ${what}`);
    await delay(200);
  }
}

main().catch((error) => {
  say(error.message);
  process.exit(1);
});
