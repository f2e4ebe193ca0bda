/**
 * The workflow types. This folder runs in Temporal's sandbox: it takes values from src/domain and the
 * workflow package only, and types from activities; time, timers and randomness are the sandbox's own.
 * An exported function's name is the type's name: renaming one breaks what is running.
 */
export { campaignOccurrence } from './campaign-occurrence';
export { campaignRun } from './campaign-run';
export { channelShard } from './channel-shard';
export { durableSend } from './durable-send';
export { outcomeFeed } from './outcome-feed';
export { voiceCall } from './voice-call';
