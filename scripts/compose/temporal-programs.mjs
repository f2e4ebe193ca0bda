import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const SERVER = 'go.temporal.io/server';
const UI = 'github.com/temporalio/ui-server/v2';
/** Five times what a build takes on two cores. */
const BUILD_LIMIT_MS = 30 * 60_000;

/**
 * The programs that the images of Temporal hold, built once from their published source into the user's cache: with one
 * compiler at a time, because the machine may have something else to do. Returns the folder with `bin`, and with those
 * files of the source that the images have too.
 */
export async function temporalServer(version, cacheDirectory, say) {
  return obtain(join(cacheDirectory, `temporal-server-${version}`), async (place) => {
    say(`Building Temporal ${version} with Go, once; this takes some minutes`);
    await install(place, `${SERVER}/cmd/server@v${version}`, 'server', 'temporal-server');
    await install(place, `${SERVER}/cmd/tools/sql@v${version}`, 'sql', 'temporal-sql-tool');
    const source = await sourceOf(`${SERVER}@v${version}`);
    await cp(join(source, 'schema'), join(place, 'schema'), { recursive: true });
    await cp(join(source, 'docker', 'scripts', 'sh', 'entrypoint.sh'), join(place, 'entrypoint.sh'));
  });
}

export async function temporalUi(version, cacheDirectory, say) {
  return obtain(join(cacheDirectory, `temporal-ui-${version}`), async (place) => {
    say(`Building Temporal's web UI ${version} with Go, once`);
    await install(place, `${UI}/cmd/server@v${version}`, 'server', 'ui-server');
    const source = await sourceOf(`${UI}@v${version}`);
    await cp(join(source, 'config'), join(place, 'config'), { recursive: true });
  });
}

/** A folder under its name is whole, because renaming it is the last step. */
async function obtain(place, make) {
  if (existsSync(place)) return place;
  const parent = join(place, '..');
  mkdirSync(parent, { recursive: true });
  const unfinished = mkdtempSync(join(parent, `unfinished-${process.pid}-`));
  try {
    mkdirSync(join(unfinished, 'bin'));
    await make(unfinished);
    // Go's module cache is not writable, and neither is what was copied from it.
    await run('chmod', ['-R', 'u+w', unfinished]);
    renameSync(unfinished, place);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return place;
}

async function install(place, module, built, name) {
  const env = { ...process.env, GOBIN: join(place, 'bin'), CGO_ENABLED: '0', GOFLAGS: '-p=1' };
  const args = ['-n', '10', 'go', 'install', '-trimpath', '-ldflags', '-s -w', module];
  try {
    await run('nice', args, {
      cwd: place,
      env,
      timeout: BUILD_LIMIT_MS,
      maxBuffer: 16 * 1024 * 1024,
    });
  } catch (error) {
    const tail = (error.stderr ?? error.message).trim().split('\n').slice(-3).join('; ');
    throw new Error(`go install ${module} failed: ${tail}`);
  }
  renameSync(join(place, 'bin', built), join(place, 'bin', name));
}

async function sourceOf(module) {
  const { stdout } = await run('go', ['mod', 'download', '-json', module], { cwd: '/' });
  return JSON.parse(stdout).Dir;
}
