import { join, resolve, sep } from 'node:path';

/** The project's root, from source and from the build alike. */
export const ROOT = resolve(__dirname, __dirname.includes(`${sep}dist${sep}`) ? '../../..' : '../..');

/** The program as it is built. */
export const MAIN = join(ROOT, 'dist/src/main.js');
