import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';

/** Where the build leaves the workflow bundle; the same from the build and from source. */
export const BUNDLE_FILE = join(
  __dirname.endsWith('dist/workers') ? join(__dirname, '..') : join(__dirname, '../dist'),
  'workflow-bundle.js',
);

/** Module paths in a bundle: the sandbox's own, then ours (checked by test/workflows/bundle.test.ts). */
export const ALLOWED_MODULES =
  /^(\.\/)?(dist\/)?(workflows|src\/domain)\/|node_modules\/(@temporalio\/(workflow|common|worker\/lib\/workflow)|nexus-rpc|ms|long|protobufjs|@protobufjs|@temporalio\/proto|heap-js|@opentelemetry)/;

/** Builds the bundle from the compiled workflows and prints its size. */
async function main(): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(__dirname, '../workflows/index.js'),
    logger: undefined,
  });
  await mkdir(dirname(BUNDLE_FILE), { recursive: true });
  await writeFile(BUNDLE_FILE, code);
  process.stdout.write(`workflow bundle: ${Math.round(code.length / 1024)} KiB\n`);
}

if (require.main === module) {
  main().catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  });
}
