import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { ShardRef } from '../src/campaigns/runs/run-end';
import type { CallEnding, CallPolicy, CallResult } from '../src/domain/call-policy';
import type { Control } from '../src/domain/campaign';
import type { Channel } from '../src/domain/channel';

/** What workflows take and can be told. Only ids and counts: an address or a secret never enters a history. */
export interface CampaignRunInput {
  runId: string;
  workspaceId: string;
  /** 1, and one more each time the run goes on after its end. */
  launch: number;
  /** When it began, for an execution that continues another one. */
  since?: number;
  /** The shards to start, for an execution that continues another one. */
  shards?: ShardRef[];
  /** The templates' placeholders, for one that continues another one before the audience is frozen to its end. */
  freezing?: Placeholders;
}

export type Placeholders = Partial<Record<Channel, string[]>>;

export interface CampaignOccurrenceInput {
  campaignId: string;
  workspaceId: string;
}

export interface ChannelShardInput {
  runId: string;
  /** Of the run; one that an earlier release started does not have it. */
  launch?: number;
  channel: Channel;
  shard: number;
  /** When the run began, in milliseconds. */
  since: number;
  /** Size of the next page; carried over when the workflow continues as new. */
  pageSize?: number;
}

export interface VoiceCallInput {
  runId: string;
  seq: number;
  /** The attempt to begin with: above 1 for a recipient that is called anew. */
  from: number;
  /** What the campaign said when the call was started. */
  policy: CallPolicy;
  /** Where an execution goes on that continues another one. */
  goOn?: {
    calls: CallResult[];
    /** The service has the call that follows these. */
    placed: boolean;
    canceled: boolean;
    endings: [attempt: number, ending: CallEnding][];
  };
}

export interface OutcomeFeedInput {
  workspaceId: string;
}

/** The row says the rest; an address or a text would stay in the history. */
export interface DurableSendInput {
  sendId: string;
}

/** The owner paused, resumed or canceled: the run's row says what, this says when to look. */
export const controlChangedUpdate = defineUpdate<void>('controlChanged');
/** From the run to its shards: look at the run's control again. To a run: something happened in the database. */
export const wakeSignal = defineSignal('wake');
/** From the run to its shards: end after the page that is under way; another execution of the run starts them again. */
export const drainSignal = defineSignal('drain');
/** To a call that sleeps: what the owner wants now. */
export const wakeCallSignal = defineSignal<[Control]>('wakeCall');
export const callEndedSignal = defineSignal<[{ attempt: number } & CallEnding]>('callEnded');
/** There is something to follow again. */
export const runStartedSignal = defineSignal('runStarted');
/** To a durable send: its row has changed. */
export const wakeSendSignal = defineSignal('wakeSend');
