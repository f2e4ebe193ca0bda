import type { Message } from '../../contracts/send';
import { DomainError } from '../../domain/errors';
import { isAllowedSender, optOutTextOf, type WorkspacePolicy, withSuffix } from '../../domain/policy';
import { measureSms } from '../../domain/sms-encoding';

/** What the workspace's policy says of single messages. It is kept by campaigns; src/app joins the two. */
export type PolicySource = (workspaceId: string) => Promise<WorkspacePolicy | undefined>;

/** What is added at the end of an SMS, and what the whole then takes. */
export interface Suffix {
  text: string;
  segments: number;
  encoding: string;
  /** Only when no message to the number had it yet (opt-out-notices.ts). */
  onlyFirst: boolean;
}

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

export function refusedSender(
  { channel, from }: Pick<Message, 'channel' | 'from'>,
  policy: WorkspacePolicy | undefined,
): DomainError | undefined {
  if (isAllowedSender(policy, channel, from)) return undefined;
  const message = `The workspace's policy does not allow this sender of ${channel}`;
  return new DomainError('sender_not_allowed', `from: ${message}`, {
    errors: [{ path: 'from', code: 'sender_not_allowed', message }],
  });
}
