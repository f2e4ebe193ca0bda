import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endWithParent } from './end-with-parent.mjs';
import { prepare } from './prepare.mjs';

/** `npm start`: prepares the checkout, then becomes `fanfare up --demo` in this same process. */
const main = join(dirname(fileURLToPath(import.meta.url)), '..', 'dist', 'src', 'main.js');

void prepare('run').then(() => {
  endWithParent();
  process.argv = [process.argv[0], main, 'up', '--demo', ...process.argv.slice(2)];
  createRequire(import.meta.url)(main);
});
