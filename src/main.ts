#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=32 --max-old-space-size=2000
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runProgram } from './cli/program';

// V8 collects young objects with helper threads, which shorten its pauses where cores are idle. On two cores they wait for
// one another, and take from PostgreSQL what they save: without them a message costs 5 to 8 % less (docs/benchmarks/carrier.md).
if (availableParallelism() <= 2) setFlagsFromString('--no-parallel-scavenge');

// Exit codes: 0 done, 1 failed, 2 usage (api.md 13).
void runProgram(process.argv).then((code) => {
  process.exit(code);
});
