import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { EnvHttpProxyAgent, interceptors, request } from 'undici';

/**
 * The two ways to obtain the `temporal` executable. Each leaves it in the given directory and returns its path,
 * or throws an Error that says why it could not.
 */
export interface ObtainOptions {
  directory: string;
  env: Record<string, string | undefined>;
  onProgress: (text: string) => void;
  signal: AbortSignal | undefined;
}

const run = promisify(execFile);

/** Short, because where the site cannot be reached, the Go build follows and should not wait. */
const CONNECT_TIMEOUT_MS = 4_000;
/** Between two pieces of the archive. */
const STALL_TIMEOUT_MS = 20_000;
const EXTRACT_TIMEOUT_MS = 60_000;
const ARCHIVE_BYTES_MAX = 512 * 1024 * 1024;

/** The last version that `go install` accepts, because later ones need a module that is not published. */
const GO_MODULE = 'github.com/temporalio/cli/cmd/temporal@v1.5.1';
const GO_OLDEST = [1, 25] as const;
const GO_VERSION_TIMEOUT_MS = 10_000;
/** Five times what the build takes on two cores. */
const GO_BUILD_TIMEOUT_MS = 15 * 60_000;

/** Downloads the newest release; docs.temporal.io/cli documents the address. */
export async function downloadExecutable(options: ObtainOptions, site: string): Promise<string> {
  const architectures: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };
  const arch = architectures[process.arch];
  if (!arch || !['linux', 'darwin'].includes(process.platform)) {
    throw new Error(`there is no archive for ${process.platform} on ${process.arch}`);
  }
  const url = `${site}/cli/archive/latest?platform=${process.platform}&arch=${arch}`;
  const archive = join(options.directory, 'archive.tar.gz');
  try {
    await fetchFile(url, archive, options);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`${new URL(site).host}: ${message || code}`);
  }
  if (!(await isGzip(archive)))
    throw new Error(`${new URL(site).host} answered something that is no archive`);
  try {
    await run('tar', ['-xzf', archive, '-C', options.directory, 'temporal'], { timeout: EXTRACT_TIMEOUT_MS });
  } catch (error) {
    const why = (error as { stderr?: string }).stderr?.trim().split('\n')[0] ?? (error as Error).message;
    throw new Error(`the archive cannot be unpacked: ${why}`);
  }
  return join(options.directory, 'temporal');
}

async function fetchFile(
  url: string,
  file: string,
  { env, onProgress, signal }: ObtainOptions,
): Promise<void> {
  const started = Date.now();
  const agent = new EnvHttpProxyAgent({
    httpProxy: env.http_proxy ?? env.HTTP_PROXY ?? '',
    httpsProxy: env.https_proxy ?? env.HTTPS_PROXY ?? '',
    noProxy: env.no_proxy ?? env.NO_PROXY ?? '',
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: STALL_TIMEOUT_MS,
    bodyTimeout: STALL_TIMEOUT_MS,
  });
  try {
    onProgress('Downloading the Temporal server');
    const dispatcher = agent.compose(interceptors.redirect({ maxRedirections: 5 }));
    const answer = await request(url, { dispatcher, signal: signal ?? null });
    if (answer.statusCode !== 200) {
      await answer.body.dump();
      throw new Error(`answered with status ${answer.statusCode}`);
    }
    const expected = Number(answer.headers['content-length'] ?? 0);
    let received = 0;
    let reported = 0;
    const meter = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        received += chunk.length;
        if (received > ARCHIVE_BYTES_MAX) return done(new Error('the archive is larger than any release'));
        if (Date.now() - reported >= 500) {
          reported = Date.now();
          const total = expected > 0 ? ` of ${megabytes(expected)}` : '';
          onProgress(
            `Downloading the Temporal server: ${megabytes(received)}${total} MB, ${elapsed(reported - started)} so far`,
          );
        }
        return done(null, chunk);
      },
    });
    await pipeline(answer.body, meter, createWriteStream(file));
    if (expected > 0 && received !== expected) throw new Error('the archive ended early');
  } finally {
    await agent.destroy();
  }
}

async function isGzip(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}

/** Builds the executable from its published source; takes a few minutes, once. */
export async function buildExecutable({
  directory,
  env,
  onProgress,
  signal,
}: ObtainOptions): Promise<string> {
  const goEnv = goEnvironment(directory, env);
  await requireGo(goEnv, signal);
  const started = Date.now();
  const report = () =>
    onProgress(
      `Building the Temporal server with Go, once, about 4 minutes: ${elapsed(Date.now() - started)} so far`,
    );
  report();
  const ticker = setInterval(report, 1_000);
  try {
    await run('go', ['install', '-trimpath', '-ldflags', '-s -w', GO_MODULE], {
      cwd: directory,
      env: goEnv,
      timeout: GO_BUILD_TIMEOUT_MS,
      killSignal: 'SIGKILL',
      maxBuffer: 16 * 1024 * 1024,
      signal,
    });
  } catch (error) {
    const { killed, stderr } = error as { killed?: boolean; stderr?: string };
    const tail = (stderr ?? '').trim().split('\n').slice(-3).join('; ');
    throw new Error(`go install ${killed ? 'took too long' : 'failed'}${tail ? `: ${tail}` : ''}`);
  } finally {
    clearInterval(ticker);
  }
  return join(directory, 'temporal');
}

async function requireGo(env: ObtainOptions['env'], signal: AbortSignal | undefined): Promise<void> {
  let answer: string;
  try {
    answer = (await run('go', ['version'], { env, timeout: GO_VERSION_TIMEOUT_MS, signal })).stdout;
  } catch {
    throw new Error('Go is not installed');
  }
  const [, major, minor] = /go(\d+)\.(\d+)/.exec(answer) ?? [];
  const [oldestMajor, oldestMinor] = GO_OLDEST;
  const isNewEnough =
    Number(major) > oldestMajor || (Number(major) === oldestMajor && Number(minor) >= oldestMinor);
  if (!isNewEnough) throw new Error(`Go ${oldestMajor}.${oldestMinor} or newer is needed: ${answer.trim()}`);
}

/**
 * Moves Go's own folders into the directory, so that nothing is written outside the user's cache. Only the
 * build cache stays, because it is in the user's cache already. With `-trimpath` it does not depend on the
 * place of the sources, so that an interrupted build continues.
 */
function goEnvironment(directory: string, env: ObtainOptions['env']): Record<string, string | undefined> {
  const settings = env.XDG_CONFIG_HOME ?? (env.HOME && join(env.HOME, '.config'));
  return {
    ...env,
    GOBIN: directory,
    GOPATH: join(directory, 'go'),
    GOMODCACHE: join(directory, 'go', 'pkg', 'mod'),
    GOTMPDIR: directory,
    CGO_ENABLED: '0',
    // Go writes counters to the configuration directory; its settings there (a proxy) must still apply.
    XDG_CONFIG_HOME: join(directory, 'config'),
    GOENV: env.GOENV ?? (settings && join(settings, 'go', 'env')),
  };
}

function elapsed(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
