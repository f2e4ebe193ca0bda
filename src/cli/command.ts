import type { ApiClient } from './api-client';

/** Shared parts of the commands that talk to a running instance. */

/** Opens the client, works and closes it in any case. */
export async function withApi<T>(
  opening: Promise<ApiClient>,
  work: (api: ApiClient) => Promise<T>,
): Promise<T> {
  const api = await opening;
  try {
    return await work(api);
  } finally {
    await api.close();
  }
}

/** Prints the result to the standard output: as JSON for a program, or as lines for a person. */
export function print(json: boolean | undefined, data: unknown, lines: readonly string[]): void {
  process.stdout.write(`${json ? JSON.stringify(data) : lines.join('\n')}\n`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a name may hold some, and a terminal would obey them.
export const printable = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '?');
