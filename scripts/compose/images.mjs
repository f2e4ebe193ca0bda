import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { imageEnvironment } from './compose-file.mjs';
import { withPaths } from './places.mjs';
import { temporalServer, temporalUi } from './temporal-programs.mjs';

const run = promisify(execFile);
const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * What the image of a service would have done with its command, as programs of this machine: `command`, the `variables` that
 * the image adds, the folders where its programs are (`path`), and where its own folders are (`paths`).
 */
export async function imageOf(service, machine) {
  const [name, version] = service.image.split(':');
  const make = IMAGES[name];
  if (!make) throw new Error(`${service.name}: this machine has nothing for the image ${service.image}`);
  const image = await make(service, machine, version);
  return { cwd: '/', variables: {}, paths: [], path: '', ...image };
}

const IMAGES = {
  postgres: postgresql,

  async 'temporalio/admin-tools'(service, machine, version) {
    const place = await temporalServer(version, machine.cacheDirectory, machine.say);
    return {
      command: [...(service.entrypoint ?? []), ...(service.command ?? [])],
      path: `${join(place, 'bin')}:${dirname(machine.temporal)}`,
      paths: [['/etc/temporal/schema', join(place, 'schema')]],
    };
  },

  async 'temporalio/server'(_service, machine, version) {
    const place = await temporalServer(version, machine.cacheDirectory, machine.say);
    // The image's own script; its shell knows an option that not every /bin/sh does.
    return { command: ['bash', join(place, 'entrypoint.sh')], path: join(place, 'bin') };
  },

  async 'temporalio/ui'(_service, machine, version) {
    const place = await temporalUi(version, machine.cacheDirectory, machine.say);
    // It listens on every address, so that its port would meet another service's.
    const port = String(machine.uiPort);
    return {
      command: [join(place, 'bin', 'ui-server'), '--root', place, '--env', 'docker', 'start'],
      variables: { TEMPORAL_UI_PORT: port },
    };
  },

  async fanfare(service, { root }) {
    return {
      command: service.command,
      cwd: root,
      variables: imageEnvironment(join(root, 'Dockerfile')),
      path: dirname(process.execPath),
    };
  },
};

async function postgresql(service, machine) {
  const { postgres, directory } = machine.postgres;
  const own = machine.places.address(service.name);
  // Its programs look for a socket in a folder of the image.
  const variables = { PGHOST: own };
  if (service.entrypoint)
    return { command: [...service.entrypoint, ...(service.command ?? [])], path: directory };
  const data = machine.volume(service, '/var/lib/postgresql/data');
  const { prefix, ...user } = await machine.runAs(data, postgres);
  await initialise(data, { ...service, prefix, user, machine });
  const [, ...args] = service.command ?? ['postgres'];
  const here = { listen_addresses: own, port: '5432', unix_socket_directories: '' };
  return {
    command: [
      ...[postgres, '-D', data, ...args],
      ...Object.entries(here).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    prefix,
    user,
    path: directory,
    variables,
  };
}

/** As the image's entrypoint does: a cluster whose superuser has the password, and a database. */
async function initialise(data, { environment, prefix, user, machine }) {
  if (existsSync(join(data, 'PG_VERSION'))) return;
  const { initdb, postgres } = machine.postgres;
  const { POSTGRES_USER: name = 'postgres', POSTGRES_DB: database = name } = environment;
  const password = environment.POSTGRES_PASSWORD ?? readSecret(environment.POSTGRES_PASSWORD_FILE, machine);
  const file = join(dirname(data), 'password');
  writeFileSync(file, password);
  const options = { cwd: '/', ...user };
  const [maker, ...args] = [
    ...[...prefix, initdb, '-D', data, '-U', name, '-E', 'UTF8', '--locale=C', '--no-sync'],
    ...['--auth-local=trust', '--auth-host=scram-sha-256', `--pwfile=${file}`],
  ];
  await run(maker, args, options);
  const rules = join(data, 'pg_hba.conf');
  writeFileSync(rules, `${readFileSync(rules, 'utf8')}host all all all scram-sha-256\n`);
  if (database === 'postgres') return;
  const [single, ...singleArgs] = [...prefix, postgres, '--single', '-D', data, 'postgres'];
  const child = run(single, singleArgs, options);
  child.child.stdin.end(`create database "${database}"\n`);
  await child;
}

const readSecret = (path, { secret }) => readFileSync(secret(path), 'utf8').trim();

/**
 * A file that a volume brings into an image. In a script, folders of the image become folders here, so that a copy of it
 * runs.
 */
export function bound({ source, target }, { root, work, paths }) {
  const file = resolve(root, source);
  const text = readFileSync(file, 'utf8');
  const here = withPaths(text, paths);
  if (here === text) return file;
  const copy = join(work, 'files', basename(target));
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(file, copy);
  writeFileSync(copy, here);
  return copy;
}

/** Programs that the images have and this machine may not have. */
export function shims(folder, { isThere, say }) {
  mkdirSync(folder, { recursive: true });
  if (isThere('nc')) return;
  say('program nc -> a script of this proof');
  const probe = "require('node:net').connect(process.argv[2],process.argv[1])";
  const script = `#!/bin/sh\nshift\nexec "${process.execPath}" -e "${probe}.on('connect',()=>process.exit(0)).on('error',()=>process.exit(1))" "$1" "$2"\n`;
  writeFileSync(join(folder, 'nc'), script, { mode: 0o755 });
}

export const searchPath = (...folders) => [...folders.filter(Boolean), SYSTEM_PATH].join(':');
