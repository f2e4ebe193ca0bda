import type { Channel } from './channel';
import { routeSender } from './route';

/** A sender that belongs to one workspace of an installation (api.md 15). */
export interface RegisteredSender {
  id: string;
  workspace: string;
  channel: Channel;
  /** For email a domain; for SMS and voice a number, short code or name. */
  sender: string;
  /** With which key mail of the domain is signed. */
  dkim: { selector: string } | undefined;
}

/** `registered` also refuses a sender that no workspace has registered. */
export const SENDER_MODES = ['open', 'registered'] as const;
export type SenderMode = (typeof SENDER_MODES)[number];

/** What identifies a sender among all of an installation. A subdomain is another domain. */
export const registeredKey = (channel: Channel, from: string): string =>
  `${channel} ${routeSender(channel, from)}`;

/** Why a workspace may not use a sender whose owner is this workspace, if any has it. */
export function senderRefusal(
  owner: string | undefined,
  workspaceId: string,
  channel: Channel,
  mode: SenderMode,
): string | undefined {
  if (owner === workspaceId) return undefined;
  if (owner !== undefined) return `This sender of ${channel} belongs to another workspace`;
  return mode === 'open' ? undefined : `This sender of ${channel} is not registered for the workspace`;
}
