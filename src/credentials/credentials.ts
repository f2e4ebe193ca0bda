import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { StartupError } from '../startup-error';
import { writePrivateFile } from './private-file';

/** api.md 13. Members of later versions are kept. */
const schema = z.looseObject({
  baseUrl: z.url(),
  workspace: z.looseObject({ id: z.string(), name: z.string() }),
  user: z.looseObject({ id: z.string(), email: z.string(), password: z.string() }),
  client: z.looseObject({ id: z.string(), secret: z.string() }),
  apiKey: z.string(),
  inboundSecret: z.string().optional(),
  temporal: z.looseObject({ address: z.string(), namespace: z.string() }).optional(),
});

export type Credentials = z.infer<typeof schema>;

export function credentialsFile(dataDir: string): string {
  return join(dataDir, 'credentials.json');
}

/**
 * `undefined` when there are none yet. A file that cannot be read is not replaced, because it may be the only
 * copy.
 */
export async function readCredentials(dataDir: string): Promise<Credentials | undefined> {
  const file = credentialsFile(dataDir);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StartupError(
      `${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`,
      'Give this user read access to it.',
    );
  }
  const parsed = schema.safeParse(jsonOrUndefined(text));
  if (parsed.success) return parsed.data;
  const members = [...new Set(parsed.error.issues.map((issue) => issue.path.join('.') || 'the whole file'))];
  throw new StartupError(
    `${file} is damaged: ${members.join(', ')} cannot be used`,
    'Restore the file from its copy. Without one, move it away, and leave the rest as it is: the log of the next start says what to set.',
  );
}

export async function writeCredentials(dataDir: string, credentials: Credentials): Promise<void> {
  await writePrivateFile(credentialsFile(dataDir), `${JSON.stringify(credentials, null, 2)}\n`);
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
