import { join } from 'node:path';
import { ROOT } from '../support/root';

export const BUILT_LOCK = join(ROOT, 'dist', 'src', 'storage', 'directory-lock.js');

/**
 * For `node -e` with the built lock and a directory: a process that says "ready", takes the directory when it is written to,
 * says "taken" or "refused", and keeps it until it ends.
 */
export const TAKE_AND_KEEP = `
  const [built, place] = process.argv.slice(1);
  const { lockDirectory } = require(built);
  process.stdin.once('data', () => {
    Promise.resolve().then(() => lockDirectory(place)).then(
      () => process.stdout.write('taken'),
      () => process.stdout.write('refused'),
    );
  });
  process.stdout.write('ready');
`;
