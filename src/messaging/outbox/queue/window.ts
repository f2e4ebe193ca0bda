import type { Channel } from '../../../domain/channel';
import type { OutgoingMessage } from '../../model/outgoing';
import type { FlowKey } from './fair-queue';
import type { Partition } from './partitions';
import type { RestrainedSender } from './waiting-queues';

/**
 * What this process has in memory of one flow of one partition, and when it is worth reading more of it from the
 * table. Memory is a window on the flow: its messages come in the order of the table, whichever way they come.
 */
export interface Window {
  readonly partition: Partition;
  readonly channel: Channel;
  /** The account by which its messages leave, as far as is known (carriers.ts). Its memory is counted there. */
  way: string;
  readonly flow: number;
  readonly key: FlowKey;
  /** True for all its messages or for none, because confirmations of opt-outs have a flow of their own (flow.ts). */
  readonly confirmsOptOut: true | undefined;
  /** Waiting in memory; what is on its way to the provider is not counted. */
  count: number;
  /** Of these, the messages that stay with an account which takes nothing now, and what its providers are called. */
  staying: number;
  stayingAt: Set<string>;
  /** More is due in the table than in memory, so that what is accepted now has to queue there. */
  behind: boolean;
  reading: boolean;
  /** Accepted while a reading is under way: it may bring them, or what is older. */
  parked: OutgoingMessage[];
  /** The table is not read before this time; Infinity when it holds nothing more. */
  readAtMs: number;
  /** Retries fall due one by one: what is due a little later is read with them. */
  notBeforeMs: number;
  /** All messages due until this time, except those on their way, have been read. */
  readUpToMs: number;
  /** From this time on, the next reading begins with the oldest message again. */
  fullAtMs: number;
}

/** A message in memory: waiting, or taken on its way to the provider. */
export interface Entry {
  readonly message: OutgoingMessage;
  readonly partition: Partition;
  window: Window | undefined;
  state: 'waiting' | 'taken' | 'gone';
  /** Counted in its window's `staying`. */
  stays: boolean;
  /** It need not ask for its sender's limit; `charged`, because a token was taken for it. */
  admitted: boolean;
  charged: boolean;
  /** While it waits with a token: the sender to whom it was granted. */
  grantedBy: RestrainedSender | undefined;
}

export const keyOf = (message: OutgoingMessage): FlowKey => ({
  class: message.class,
  workspaceId: message.workspaceId,
  campaign: message.campaign,
  sender: message.from,
});

export const keyOfEntry = ({ message }: Entry): FlowKey => keyOf(message);

export function newWindow(partition: Partition, message: OutgoingMessage, way: string): Window {
  return {
    partition,
    channel: message.channel,
    way,
    flow: message.flow,
    key: keyOf(message),
    confirmsOptOut: message.confirmsOptOut,
    count: 0,
    staying: 0,
    stayingAt: new Set(),
    behind: false,
    reading: false,
    parked: [],
    readAtMs: Number.POSITIVE_INFINITY,
    notBeforeMs: 0,
    readUpToMs: 0,
    fullAtMs: 0,
  };
}
