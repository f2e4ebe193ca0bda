import type { NoticeRule } from '../campaigns/model/dependencies';
import { isTold } from '../messaging/outbox/accept/opt-out-notices';

/** Whether a number has had the policy's opt-out text, so that a dry run counts segments correctly. */
export const isToldHowToOptOut: NoticeRule = (workspaceId, { from, address }) =>
  isTold(workspaceId, { from, to: address });
