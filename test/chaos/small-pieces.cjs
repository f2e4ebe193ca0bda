/**
 * Makes pieces and shards of an audience small, so that freezing 1,500 contacts takes as many transactions as freezing a
 * hundred thousand, and faults meet every one of them. Loaded into the orchestrator with --require.
 */
const Module = require('node:module');

const SMALL = { audiencePieceContacts: 40, firstShardContacts: 200, recipientsPerShard: 300 };

const load = Module._load;
Module._load = function loadSmall(request, ...rest) {
  const loaded = load.call(this, request, ...rest);
  if (request.endsWith('/limits') && loaded.LIMITS) Object.assign(loaded.LIMITS, SMALL);
  return loaded;
};
