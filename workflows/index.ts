/**
 * The workflow types. This folder runs in Temporal's sandbox. It imports values only from src/domain and the
 * workflow package, and types from activities. Time, timers and randomness are the sandbox's own. An exported
 * function's name is the type's name, so that renaming one breaks running workflows.
 */
export { campaignOccurrence } from './campaign-occurrence';
export { campaignRun } from './campaign-run';
export { channelShard } from './channel-shard';
export { durableSend } from './durable-send';
export { outcomeFeed } from './outcome-feed';
export { voiceCall } from './voice-call';
