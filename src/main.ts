#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=32 --max-old-space-size=2000
import { runProgram } from './cli/program';

// Exit codes: 0 done, 1 failed, 2 usage (api.md 13).
void runProgram(process.argv).then((code) => {
  process.exit(code);
});
