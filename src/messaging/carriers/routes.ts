import type { Kysely } from 'kysely';
import type { Account } from '../../domain/account';
import { CHANNELS } from '../../domain/channel';
import { DomainError, type FieldError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { notInWorkspace } from '../../domain/not-in-workspace';
import type { Route, Routed } from '../../domain/route';
import type { Inability, Wish } from '../../providers/vendor/vendor';
import type { MessagingTables } from '../model/tables';
import type { CompiledTemplate, TemplateVersions } from '../templates/template-versions';
import { live, toAccount } from './accounts';
import type { Reached } from './carriers';
import { raiseRevision } from './revision';

/** Which account a message leaves by, as owners of the installation set it: one list, changed as a whole. */
export interface Routes {
  read(): Promise<Route[]>;
  /** Throws `invalid_request` for accounts and workspaces that are not there. */
  put(routes: readonly Route[]): Promise<Route[]>;
  /**
   * Accounts and workspaces that the routes name and that do not exist. The routes may be malformed
   * otherwise.
   */
  unknownNames(routes: readonly NamesOfRoute[]): Promise<FieldError[]>;
}

export interface NamesOfRoute {
  channel: string | undefined;
  workspace: string | undefined;
  accounts: (string | undefined)[];
}

export function createRoutes(deps: {
  db: Kysely<MessagingTables>;
  environment: readonly Account[];
  onChanged(): Promise<void>;
}): Routes {
  const { db, environment, onChanged } = deps;
  return {
    async read() {
      const { routes } = await db.selectFrom('carrier_settings').select('routes').executeTakeFirstOrThrow();
      return routes;
    },
    async put(routes) {
      await db.transaction().execute(async (tx) => {
        // Raised first, so that no account is deleted while it is being named here.
        await raiseRevision(tx);
        const errors = await unknownIn(tx, routes.map(namesOf));
        if (errors.length > 0) {
          throw new DomainError('invalid_request', `${errors[0]?.path}: ${errors[0]?.message}`, { errors });
        }
        await tx
          .updateTable('carrier_settings')
          .set({ routes: JSON.stringify(routes) })
          .execute();
      });
      await onChanged();
      return [...routes];
    },
    unknownNames: (routes) => unknownIn(db, routes),
  };

  async function unknownIn(from: Kysely<MessagingTables>, routes: readonly NamesOfRoute[]) {
    const accounts = [...environment, ...(await live(from).execute()).map(toAccount)];
    const workspaces = await from.selectFrom('workspaces').select('id').execute();
    return findings(routes, accounts, new Set(workspaces.map(({ id }) => id)));
  }
}

const namesOf = ({ channel, workspace, accounts }: Route): NamesOfRoute => ({
  ...{ channel, workspace, accounts: accounts.map(({ account }) => account) },
});

/** In routes that are malformed otherwise, an id may be any text. */
const shortOf = (id: string): string => id.slice(0, LIMITS.idChars);

function findings(
  routes: readonly NamesOfRoute[],
  accounts: readonly Account[],
  workspaces: ReadonlySet<string>,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, { channel: name, workspace, accounts: named }] of routes.entries()) {
    const at = `routes.${i}`;
    const channel = CHANNELS.find((one) => one === name);
    if (workspace !== undefined && !workspaces.has(workspace)) {
      errors.push({
        path: `${at}.workspace`,
        code: 'not_found',
        message: `There is no workspace ${shortOf(workspace)}`,
      });
    }
    for (const [j, id] of named.entries()) {
      if (id === undefined) continue;
      const path = `${at}.accounts.${j}.account`;
      const account = accounts.find((one) => one.id === id);
      if (!account) errors.push({ path, code: 'not_found', message: `There is no account ${shortOf(id)}` });
      else if (channel && !account.channels.includes(channel)) {
        errors.push({ path, code: 'not_applicable', message: `The account has no channel ${channel}` });
      }
    }
  }
  return errors;
}

/** Why messages cannot be sent as they are wanted, or not by every account by which they may leave. */
export interface SendingFinding {
  about: Inability['about'];
  message: string;
  /** `error`: no message can be sent so. */
  severity: 'error' | 'warning';
}

/** Messages by one template, to any recipients. */
export interface SendingQuestion extends Omit<Wish, 'body'>, Pick<Routed, 'workspaceId' | 'class'> {
  templateId: string;
  version?: number | undefined;
}

/** Placeholders are left empty, because what they become differs by recipient. Throws `not_found`. */
export async function wishOf(
  templates: TemplateVersions,
  { workspaceId, templateId, version, channel, from, voice }: SendingQuestion,
): Promise<Wish> {
  const template = await templates.get(workspaceId, templateId, version);
  if (template?.channel !== channel)
    throw notInWorkspace(`${channel} template ${templateId}`, '/api/template');
  return { channel, from, voice, body: emptyBody(template) };
}

/** What all messages of a template have in common. */
export const emptyBody = ({ body }: CompiledTemplate): string =>
  body.render(Object.fromEntries(body.placeholders.map((name) => [name, ''])));

/**
 * Judges messages before any of them exists. Recipients are unknown, so that every route is looked at which one of them
 * could take. A route is closed to the messages when each of its usual accounts is unable to send them; only if all
 * routes are closed, nothing can be sent, and every finding is an error.
 */
export function findInabilities(
  wish: Wish,
  reached: readonly Reached[],
  unable: (account: Account, wish: Wish) => Inability[],
): SendingFinding[] {
  const isOpen = (account: Account) => unable(account, wish).length === 0;
  const used = reached.filter(({ usual }) => usual.length > 0);
  const severity = used.length > 0 && !used.some(({ usual }) => usual.some(isOpen)) ? 'error' : 'warning';
  const accounts = new Map(
    used.flatMap(({ usual, spare }) => [...usual, ...spare].map((one) => [one.id, one] as const)),
  );
  return [...accounts.values()].flatMap((account) =>
    unable(account, wish).map(({ about, message }) => ({
      about,
      message: `${message} (${account.kind}, account ${account.id})`,
      severity,
    })),
  );
}
