import type { NoticeRule } from '../campaigns/ports';
import { isTold } from '../messaging/inbound/opt-out-notices';

/** By what the text of the policy is added to a message, for a dry run that counts its segments. */
export const isToldHowToOptOut: NoticeRule = (workspaceId, { from, address }) =>
  isTold(workspaceId, { from, to: address });
