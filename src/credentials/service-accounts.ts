import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { StartupError } from '../startup-error';

const secret = z.string().min(1);
const baseUrl = z.url({ protocol: /^https?$/ }).transform((value) => value.replace(/\/+$/, ''));

const account = z.strictObject({
  clientId: secret,
  clientSecret: secret,
  apiKey: secret,
  sessionCookie: secret.optional(),
  authUrl: baseUrl.optional(),
  sendUrl: baseUrl.optional(),
  appUrl: baseUrl.optional(),
});

const schema = z.record(z.string().min(1), account);

/** Credentials of one workspace's campaigns at the messaging service, and its address if it differs. */
export type ServiceAccount = z.infer<typeof account>;

/** Accounts by workspace from the operator's file (docs/operating.md); empty without a file. */
export function readServiceAccounts(file: string | undefined): ReadonlyMap<string, ServiceAccount> {
  if (file === undefined) return new Map();
  const parsed = schema.safeParse(readJson(file));
  if (parsed.success) return new Map(Object.entries(parsed.data));
  // Names of members only, because the values are secrets.
  const members = [...new Set(parsed.error.issues.map((issue) => issue.path.join('.') || 'the whole file'))];
  throw new StartupError(
    `${file} (FANFARE_SERVICE_CREDENTIALS_FILE) cannot be used: ${members.join(', ')}`,
    'Write an object of workspace ids, each with clientId, clientSecret and apiKey; docs/operating.md shows one.',
  );
}

function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new StartupError(
      `${file} (FANFARE_SERVICE_CREDENTIALS_FILE) cannot be read: ${(error as NodeJS.ErrnoException).code}`,
      'Correct the path, or give this user read access to the file.',
    );
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
