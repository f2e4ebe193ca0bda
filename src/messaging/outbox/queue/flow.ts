import type { Message } from '../../../contracts/send';

/**
 * The number of a flow: the messages of one class, workspace, campaign, sender and account, which take turns with other
 * flows on their channel. The account is part of it, so that messages for an account that refuses do not block others.
 * The number is stored with the message, so that one flow is read without passing all others. It is FNV-1a over 32
 * bits; two flows with the same number are read together and are separated in memory. Confirmations of opt-outs have a
 * flow of their own, because they leave also while their workspace is stopped.
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
