import { writeFileSync } from 'node:fs';
import { addWorkspace } from '../support/as-user';
import { type Credentials, readCredentials } from '../support/fanfare-process';

/** A workspace, and what a backend team of it proves itself with. */
export type Workspace = Pick<Credentials, 'workspace' | 'client' | 'apiKey'>;

/** The user who may make accounts and routes. */
export type Owner = Credentials['user'];

/** The installation's first workspace and another, of which neither may touch what is the other's. */
export async function twoWorkspaces(
  baseUrl: string,
  dataDir: string,
): Promise<{ owner: Owner; workspaces: Workspace[] }> {
  const first = readCredentials({ dataDir, env: {}, remove: async () => undefined });
  const second = await addWorkspace(baseUrl, first.user, 'Second');
  return { owner: first.user, workspaces: [first, second] };
}

/** For workers in processes of their own (docs/operating.md). */
export function writeServiceAccounts(file: string, workspaces: readonly Workspace[]): void {
  const accounts = workspaces.map(({ workspace, client, apiKey }) => [
    workspace.id,
    { clientId: client.id, clientSecret: client.secret, apiKey },
  ]);
  writeFileSync(file, JSON.stringify(Object.fromEntries(accounts)), { mode: 0o600 });
}

/** The addresses that only this workspace sends from. */
export const sendersOf = (number: number) => ({
  email: `news${number}@example.com`,
  sms: String(12_345 + number),
  voice: `+1202555010${number}`,
});
