/**
 * Who may do what (api.md 17). A user has a role, and may do what the roles below it may. A client and an API key
 * have scopes, of which none implies another. Each operation of the API names the lowest role and the scopes
 * that it needs (`access` in http/openapi/operation.ts).
 */
export const ROLES = ['owner', 'admin', 'sender', 'editor', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

export const SCOPES = [
  'read',
  'contacts',
  'templates',
  'campaigns',
  'send',
  'suppression',
  'suppression:lift',
  'policy',
  'webhooks',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Scopes of a new client or key that asks for none: without what undoes a protection of recipients. */
export const SCOPES_DEFAULT: readonly Scope[] = SCOPES.filter(
  (scope) => scope !== 'suppression:lift' && scope !== 'policy',
);

/** What an operation needs. */
export interface Needs {
  /** Lowest role that may do it; absent: no user may, because it is for programs. */
  role?: Role;
  /** All of these; absent: no client may, because it is for people. */
  scopes?: readonly Scope[];
}

export const hasRole = (role: Role, lowest: Role): boolean => ROLES.indexOf(role) <= ROLES.indexOf(lowest);

/** Reads a stored role. Installations of earlier versions have members, who may do what senders may. */
export const roleOf = (stored: Role | 'member'): Role => (stored === 'member' ? 'sender' : stored);

/** Reads stored scopes. Clients and keys of earlier versions have none stored, and keep all. */
export const scopesOf = (stored: readonly Scope[] | null): readonly Scope[] =>
  stored === null ? SCOPES : SCOPES.filter((scope) => stored.includes(scope));

/** The first scope that is missing, in the order in which the operation names them. */
export const missingScope = (
  needed: readonly Scope[],
  ...holders: readonly (readonly Scope[])[]
): Scope | undefined => needed.find((scope) => holders.some((scopes) => !scopes.includes(scope)));
