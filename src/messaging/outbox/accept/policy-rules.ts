import type { Message } from '../../../contracts/send';
import { DomainError } from '../../../domain/errors';
import type { MaybePromise } from '../../../domain/maybe-promise';
import { isAllowedSender, optOutTextOf, type WorkspacePolicy, withSuffix } from '../../../domain/policy';
import { measureSms } from '../../../domain/sms-encoding';
import type { Suffix } from '../../model/outgoing';

/** What the workspace's policy says of single messages. It is kept by campaigns; src/app joins the two. */
export type PolicySource = (workspaceId: string) => MaybePromise<WorkspacePolicy | undefined>;

export function suffixOf(
  message: Pick<Message, 'channel' | 'class'>,
  text: string | undefined,
  policy: WorkspacePolicy | undefined,
): Suffix | undefined {
  const added = optOutTextOf(policy, message.channel, message.class);
  if (!added || text === undefined) return undefined;
  const { segments, encoding } = measureSms(withSuffix(text, added.text));
  return { ...added, segments, encoding };
}

/** Why a sender may not be used by a workspace, whatever its policy says (senders/registered-senders.ts). */
export type SenderRule = (
  workspaceId: string,
  sender: Pick<Message, 'channel' | 'from'>,
) => string | undefined;

export function refusedSender(
  workspaceId: string,
  { channel, from }: Pick<Message, 'channel' | 'from'>,
  policy: WorkspacePolicy | undefined,
  rule: SenderRule | undefined,
): DomainError | undefined {
  const message = isAllowedSender(policy, channel, from)
    ? rule?.(workspaceId, { channel, from })
    : `The workspace's policy does not allow this sender of ${channel}`;
  if (message === undefined) return undefined;
  return new DomainError('sender_not_allowed', `from: ${message}`, {
    errors: [{ path: 'from', code: 'sender_not_allowed', message }],
  });
}
