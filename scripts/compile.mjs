import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/**
 * `node scripts/compile.mjs <folder> …`: each TypeScript file of these folders becomes one of JavaScript under `dist`,
 * by itself, and JSON files are copied. Types are checked by `npm run check`: `tsc` reads those of all packages even
 * when it checks none, which took 11 s of a first start where this takes 2.
 */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');

const entryPoints = process.argv
  .slice(2)
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(ROOT, folder, name)),
  )
  .filter((file) => /(?<!\.d)\.ts$|\.json$/.test(file));

await build({
  entryPoints,
  outbase: ROOT,
  outdir: join(ROOT, 'dist'),
  tsconfig: join(ROOT, 'tsconfig.json'),
  loader: { '.json': 'copy' },
  format: 'cjs',
  platform: 'node',
  // The oldest Node that runs it.
  target: 'node20.19',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
}).catch(() => {
  // The errors have been printed, each with its file and line.
  process.exitCode = 1;
});
