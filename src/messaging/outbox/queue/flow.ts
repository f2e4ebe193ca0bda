import type { Message } from '../../../contracts/send';

/**
 * A number for what has a turn of its own on its channel: class, workspace, campaign and sender, and the account that
 * a route led to when it was accepted, because what waits for a refused account must not stand before what does not. It is stored with
 * the message, so that the messages of one flow are read without passing those of all others. FNV-1a over 32 bits:
 * two flows with the same number are read together and are separated in memory. Confirmations of opt-outs have a flow of
 * their own, because they leave while all else that their workspace sends is stopped and not even read.
 */
export function flowOf(
  workspaceId: string,
  message: Pick<Message, 'channel' | 'class' | 'campaign' | 'from'> & { confirmsOptOut?: true | undefined },
  way?: string,
): number {
  const own = `${message.channel}\n${message.class}\n${workspaceId}\n${message.campaign ?? ''}\n${message.from}`;
  const routed = way === undefined ? own : `${own}\n${way}`;
  const text = message.confirmsOptOut ? `${routed}\nconfirms` : routed;
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  // Zero stands for a message of a process that knows no flows.
  return hash | 0 || 1;
}
