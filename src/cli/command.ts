import type { ApiClient } from './api-client';

/** What the commands that talk to a running instance have in common. */

/** Opens, works and closes, whatever happens. */
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

/** The result on the standard output: for a program, or for a person. */
export function print(json: boolean | undefined, data: unknown, lines: readonly string[]): void {
  process.stdout.write(`${json ? JSON.stringify(data) : lines.join('\n')}\n`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a name may hold some, and a terminal would obey them.
export const printable = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '?');
