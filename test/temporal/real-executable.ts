import { cacheDirectory, findTemporalExecutable } from '../../src/temporal/executable';

/** The real one; obtained as the product does it on a machine that has none. */
export async function realExecutable(): Promise<string> {
  const { path } = await findTemporalExecutable({
    cliPath: process.env.TEMPORAL_CLI_PATH,
    cacheDir: cacheDirectory(process.env),
    env: process.env,
  });
  return path;
}
