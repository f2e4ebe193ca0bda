import type { Channel } from './channel';

/** The only file that writes the formats of composed ids. Each builder has its inverse beside it. */

export interface RecipientKey {
  runId: string;
  channel: Channel;
  /** Numbered without gaps per run and channel, from 0, in order of due time. */
  seq: number;
}

/**
 * The uid of a recipient's message: `<run>.<channel>.<seq>.<attempt>`. It is deterministic, so that a process
 * that takes over after a crash asks for the same message again, and an idempotent service sends it once.
 *
 * The number has seven digits, so that uids sort as their messages leave and the pages of their index are full. Runs from before
 * decision 56, which are known by their longer ids, keep the uids that their messages have.
 */
export function messageUid({ runId, channel, seq }: RecipientKey, attempt: number): string {
  const number = runId.length > RUN_ID_CHARS ? seq : String(seq).padStart(SEQ_DIGITS, '0');
  return `${runId}.${channel}.${number}.${attempt}`;
}

const RUN_ID_CHARS = 'run_'.length + 19;
const SEQ_DIGITS = 7;

const UID = /^(run_[0-9a-z]{19,26})\.(email|sms|voice)\.(\d{1,9})\.(\d{1,4})$/;

/** `undefined` for a uid that another caller chose. */
export function parseMessageUid(uid: string): (RecipientKey & { attempt: number }) | undefined {
  const match = UID.exec(uid);
  if (!match) return undefined;
  const [, runId, channel, seq, attempt] = match;
  return { runId: runId as string, channel: channel as Channel, seq: Number(seq), attempt: Number(attempt) };
}

/** A recipient's id in the API: the uid without the attempt. */
export function recipientId(key: RecipientKey): string {
  return `${key.runId}.${key.channel}.${key.seq}`;
}

const RECIPIENT_ID = /^(run_[0-9a-z]{19,26})\.(email|sms|voice)\.(\d{1,9})$/;

/** `undefined` for a text that is no recipient's id. */
export function parseRecipientId(id: string): RecipientKey | undefined {
  const [, runId, channel, seq] = RECIPIENT_ID.exec(id) ?? [];
  return runId === undefined ? undefined : { runId, channel: channel as Channel, seq: Number(seq) };
}

/** The uid of a durable send's message: `<send>.<attempt>`, for the same reason. */
export function sendMessageUid(sendId: string, attempt: number): string {
  return `${sendId}.${attempt}`;
}

const SEND_UID = /^(snd_[0-9a-z]{19,26})\.(\d{1,4})$/;

/** `undefined` for a uid that is no durable send's. */
export function parseSendMessageUid(uid: string): { sendId: string; attempt: number } | undefined {
  const match = SEND_UID.exec(uid);
  return match ? { sendId: match[1] as string, attempt: Number(match[2]) } : undefined;
}

/** A run that is started again after its end gets a new workflow for each `launch`. */
export const campaignRunWorkflowId = (runId: string, launch: number): string =>
  `campaign:${runId}${again(launch)}`;
/** Two launches must not share the id, because a terminated workflow's children stay for a moment. */
export const channelShardWorkflowId = (
  runId: string,
  launch: number,
  channel: Channel,
  shard: number,
): string => `shard:${runId}:${channel}:${shard}${again(launch)}`;
/** `from` is the workflow's first attempt. A recipient who is called anew gets a new workflow. */
export const voiceCallWorkflowId = (runId: string, seq: number, from: number): string =>
  `call:${runId}:${seq}${again(from)}`;
/**
 * Ids of a recurring campaign's Temporal schedule and of the workflow it starts; Temporal appends the time to
 * the latter.
 */
export const campaignScheduleId = (campaignId: string): string => `schedule:${campaignId}`;
export const occurrenceWorkflowId = (campaignId: string): string => `occurrence:${campaignId}`;
export const durableSendWorkflowId = (sendId: string): string => `send:${sendId}`;

const again = (number: number): string => (number > 1 ? `:${number}` : '');
