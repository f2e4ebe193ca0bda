import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { ShardRef } from '../src/campaigns/runs/run-end';
import type { CallEnding, CallPolicy, CallProgress } from '../src/domain/call-policy';
import type { Control } from '../src/domain/campaign';
import type { Channel } from '../src/domain/channel';

/**
 * Inputs and signals of workflows. They carry only ids and counts, because an address or a secret must never
 * enter a history.
 */
export interface CampaignRunInput {
  runId: string;
  workspaceId: string;
  /** 1 at first; one more each time the run is started again after its end. */
  launch: number;
  /** When the run began. Set when this execution continues another one. */
  since?: number;
  /** The shards to start. Set when this execution continues another one. */
  shards?: ShardRef[];
  /** The templates' placeholders. Set when this execution continues one that had not frozen the whole audience. */
  freezing?: Placeholders;
}

export type Placeholders = Partial<Record<Channel, string[]>>;

export interface CampaignOccurrenceInput {
  campaignId: string;
  workspaceId: string;
}

export interface ChannelShardInput {
  runId: string;
  /** Number of the run's launch. A shard that an earlier release started does not have it. */
  launch?: number;
  channel: Channel;
  shard: number;
  /** When the run began, in milliseconds since 1970. */
  since: number;
  /** Size of the next page, carried over when the workflow continues as new. */
  pageSize?: number;
}

export interface VoiceCallInput {
  runId: string;
  seq: number;
  /** The first attempt; above 1 when the recipient is called again. */
  from: number;
  /** The campaign's call policy when the call was started. */
  policy: CallPolicy;
  /** State of the execution that this one continues. */
  goOn?: CallProgress;
}

export interface OutcomeFeedInput {
  workspaceId: string;
}

/** The input is only the id, because an address or a text would stay in the history. */
export interface DurableSendInput {
  sendId: string;
}

/**
 * The operator has paused, resumed or canceled. The run's row says which; this update says that it is time to
 * read it.
 */
export const controlChangedUpdate = defineUpdate<void>('controlChanged');
/** From the run to its shards: read the run's control again. To a run: the database has changed. */
export const wakeSignal = defineSignal('wake');
/** From the run to its shards: end after the current page. Another execution of the run starts them again. */
export const drainSignal = defineSignal('drain');
/** To a sleeping call: what the operator wants now. */
export const wakeCallSignal = defineSignal<[Control]>('wakeCall');
export const callEndedSignal = defineSignal<[{ attempt: number } & CallEnding]>('callEnded');
/** To the workflow of a feed: a run has started, so that there are events to follow again. */
export const runStartedSignal = defineSignal('runStarted');
/** To a durable send: its row has changed. */
export const wakeSendSignal = defineSignal('wakeSend');
