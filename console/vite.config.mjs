import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';

const ROOT = dirname(fileURLToPath(import.meta.url));

/** Script and style that the first page needs, gzipped. The contract allows 250 kB; the rest is room for a reader's phone. */
const FIRST_LOAD_MAX = 200_000;
const COMPRESSED = /\.(js|css|svg)$/;

export default defineConfig({
  root: ROOT,
  base: '/console/',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    // `light-dark()` and native dialogs, which all of these have.
    target: ['chrome123', 'firefox121', 'safari17.5'],
    // Scripts and images of our own origin only: the policy admits no inline script.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 600,
    rolldownOptions: {
      onLog(level, log, report) {
        // Libraries mark what renders in browsers only; everything here does.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log);
      },
    },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8080', '/healthz': 'http://127.0.0.1:8080' } },
  plugins: [compressedOnce(), boundedFirstLoad()],
});

/** The server sends what was compressed here, so that no request waits for a compressor. */
function compressedOnce() {
  return {
    name: 'compressed-once',
    apply: 'build',
    writeBundle({ dir }, bundle) {
      for (const name of Object.keys(bundle).filter((one) => COMPRESSED.test(one))) {
        const file = join(dir, name);
        const content = readFileSync(file);
        writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
        const params = {
          // The highest quality takes seconds here and saves 2 %.
          [constants.BROTLI_PARAM_QUALITY]: 9,
          [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
        };
        writeFileSync(`${file}.br`, brotliCompressSync(content, { params }));
      }
    },
  };
}

/** Fails the build when the first load has become too large: the entry, what it imports at once, and their style. */
function boundedFirstLoad() {
  return {
    name: 'bounded-first-load',
    apply: 'build',
    writeBundle(_options, bundle) {
      const first = new Set();
      const add = (name) => {
        const chunk = bundle[name];
        if (!chunk || first.has(name)) return;
        first.add(name);
        for (const one of chunk.imports ?? []) add(one);
        for (const one of chunk.viteMetadata?.importedCss ?? []) add(one);
      };
      for (const chunk of Object.values(bundle)) if (chunk.isEntry) add(chunk.fileName);
      const bytes = [...first]
        .map((name) => gzipSync(bundle[name].code ?? bundle[name].source, { level: 9 }).length)
        .reduce((sum, one) => sum + one, 0);
      process.stdout.write(`Console: ${(bytes / 1_000).toFixed(1)} kB gzip in the first load\n`);
      if (bytes > FIRST_LOAD_MAX)
        this.error(`The first load is ${bytes} bytes; at most ${FIRST_LOAD_MAX} are allowed`);
    },
  };
}
