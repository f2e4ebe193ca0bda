import type { Channel } from './channel';

/** The only place where a composed id's format is written; each builder has its inverse beside it. */

export interface RecipientKey {
  runId: string;
  channel: Channel;
  /** Dense per run and channel, from 0, in order of due time. */
  seq: number;
}

/**
 * The uid of a recipient's message: `<run>.<channel>.<seq>.<attempt>`. Deterministic, so that whoever
 * takes over after a crash asks the service for the very same message and an idempotent one sends it once.
 */
export function messageUid(key: RecipientKey, attempt: number): string {
  return `${key.runId}.${key.channel}.${key.seq}.${attempt}`;
}

const UID = /^(run_[0-9a-z]{26})\.(email|sms|voice)\.(\d{1,9})\.(\d{1,4})$/;

/** `undefined` for a uid that some other caller chose. */
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

const RECIPIENT_ID = /^(run_[0-9a-z]{26})\.(email|sms|voice)\.(\d{1,9})$/;

/** `undefined` for text that is no recipient's id. */
export function parseRecipientId(id: string): RecipientKey | undefined {
  const [, runId, channel, seq] = RECIPIENT_ID.exec(id) ?? [];
  return runId === undefined ? undefined : { runId, channel: channel as Channel, seq: Number(seq) };
}

/** The uid of a durable send's message: `<send>.<attempt>`, for the same reason. */
export function sendMessageUid(sendId: string, attempt: number): string {
  return `${sendId}.${attempt}`;
}

const SEND_UID = /^(snd_[0-9a-z]{26})\.(\d{1,4})$/;

/** `undefined` for a uid that is no durable send's. */
export function parseSendMessageUid(uid: string): { sendId: string; attempt: number } | undefined {
  const match = SEND_UID.exec(uid);
  return match ? { sendId: match[1] as string, attempt: Number(match[2]) } : undefined;
}

/** A run that goes on after its end does so in a new workflow, its second `launch`, and so on. */
export const campaignRunWorkflowId = (runId: string, launch: number): string =>
  `campaign:${runId}${again(launch)}`;
/** Not shared by two launches: a workflow that was terminated leaves its children a moment longer. */
export const channelShardWorkflowId = (
  runId: string,
  launch: number,
  channel: Channel,
  shard: number,
): string => `shard:${runId}:${channel}:${shard}${again(launch)}`;
/** `from` is the attempt with which the workflow begins: a recipient that is called anew gets a new one. */
export const voiceCallWorkflowId = (runId: string, seq: number, from: number): string =>
  `call:${runId}:${seq}${again(from)}`;
/** Temporal's schedule of a recurring campaign, and what it starts; Temporal adds the hour to the latter. */
export const campaignScheduleId = (campaignId: string): string => `schedule:${campaignId}`;
export const occurrenceWorkflowId = (campaignId: string): string => `occurrence:${campaignId}`;
export const durableSendWorkflowId = (sendId: string): string => `send:${sendId}`;

const again = (number: number): string => (number > 1 ? `:${number}` : '');
