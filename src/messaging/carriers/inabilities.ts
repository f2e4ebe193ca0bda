import type { Account } from '../../domain/account';
import { DomainError } from '../../domain/errors';
import type { Routed } from '../../domain/route';
import type { Inability, Wish } from '../../providers/vendor/vendor';
import type { TemplateVersions } from '../templates/template-versions';
import type { Reached } from './carriers';

/** Why messages cannot be sent as they are wanted, or not by every account by which they may leave. */
export interface SendingFinding {
  about: Inability['about'];
  message: string;
  /** `error`: no message can be sent so. */
  severity: 'error' | 'warning';
}

/** Messages by one template, whoever their recipients are. */
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
    throw new DomainError('not_found', `No ${channel} template ${templateId} in this workspace`);
  const empty = Object.fromEntries(template.body.placeholders.map((name) => [name, '']));
  return { channel, from, voice, body: template.body.render(empty) };
}

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
