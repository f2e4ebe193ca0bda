#!/usr/bin/env -S node --max-semi-space-size=64
import { runProgram } from './cli/program';

// Exit codes: 0 done, 1 failed, 2 usage (api.md 13).
void runProgram(process.argv).then((code) => {
  process.exit(code);
});
