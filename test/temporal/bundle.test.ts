/** Proves that workflows decide by no value that may be tuned, since recorded histories have to replay. */

import { readFileSync } from 'node:fs';
import { LIMITS } from '../../src/domain/limits';
import { BUNDLE_FILE, bundledModules, forbiddenModules, TRACED_BUNDLE_FILE } from '../../workers/bundle';
import { PAGE_WORKERS_PER_SHARD } from '../../workflows/constants';

describe('the workflow bundle', () => {
  test('holds workflows and the domain, without the limits', () => {
    const modules = bundledModules(readFileSync(BUNDLE_FILE, 'utf8'));
    expect(modules).toEqual(expect.arrayContaining(['workflows/voice-call.ts', 'src/domain/call-policy.ts']));
    expect(modules).not.toContain('src/domain/limits.ts');
    expect(forbiddenModules(modules)).toEqual([]);
  });

  test('traces nothing, and has a twin that does', () => {
    const tracing = (file: string) =>
      bundledModules(readFileSync(file, 'utf8')).filter((module) => module.includes('opentelemetry'));
    expect(tracing(BUNDLE_FILE)).toEqual([]);
    expect(tracing(TRACED_BUNDLE_FILE).length).toBeGreaterThan(3);
  });

  test('is refused with the limits, the campaigns or a library in it', () => {
    const wrong = ['src/domain/limits.ts', 'src/campaigns/runs/runs.ts', 'node_modules/zod/index.js'];
    expect(forbiddenModules(['workflows/index.ts', ...wrong])).toEqual(wrong);
  });

  test('divides shards as the ledger does', () => {
    expect(PAGE_WORKERS_PER_SHARD).toBe(LIMITS.pageWorkersPerShard);
  });
});
