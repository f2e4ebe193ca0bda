import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './root';

export interface BuildCopy {
  directory: string;
  main: string;
  remove(): void;
}

/** A copy of the build, to change before it is started. */
export function copyBuild(): BuildCopy {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-build-'));
  cpSync(join(ROOT, 'dist'), join(directory, 'dist'), { recursive: true });
  for (const name of ['node_modules', 'package.json', 'samples']) {
    symlinkSync(join(ROOT, name), join(directory, name));
  }
  return {
    directory,
    main: join(directory, 'dist', 'src', 'main.js'),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** A copy whose workflows differ, as those of the next release do: activities may be silent for longer. */
export function makeSecondBuild(): BuildCopy {
  const copy = copyBuild();
  const bundle = join(copy.directory, 'dist', 'workflow-bundle.js');
  const code = readFileSync(bundle, 'utf8');
  const next = code.replace('HEARTBEAT_SECONDS = 10', 'HEARTBEAT_SECONDS = 11');
  if (next === code) throw new Error('The bundle has no such constant; choose another that differs');
  writeFileSync(bundle, next);
  return copy;
}
