import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/**
 * Makes one file of the renderer and all that it needs, so that whoever installs Fanfare needs neither React 18
 * nor zod 3 beside what is installed already.
 */
await build({
  absWorkingDir: dirname(fileURLToPath(import.meta.url)),
  entryPoints: ['renderer.cjs'],
  outfile: 'dist/index.cjs',
  bundle: true,
  platform: 'node',
  // React's build for development is several times slower, and writes a document's texts to standard error.
  define: { 'process.env.NODE_ENV': '"production"' },
  legalComments: 'eof',
});
