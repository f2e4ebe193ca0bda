/** Proves that the documented command runs, and that a carrier which fails in the middle costs no recipient anything. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/root';
import { type CarriersDemo, linesOf, runCarriersDemo } from './carriers';

const TIMEOUT_MS = 240_000;

describe('the demo over three carriers', () => {
  test(
    'gives each recipient one message by one account, also when an account fails in the middle',
    async () => {
      const said: string[] = [];
      const demo: CarriersDemo = await runCarriersDemo((line) => said.push(line));
      expect(said.join('\n')).toContain('refuses the account from now on');
      const of = (channel: string) => demo.given.filter((one) => one.channel === channel);
      for (const channel of ['email', 'sms', 'voice'] as const) {
        const total = demo.counts[channel]?.total ?? 0;
        expect(total).toBeGreaterThan(20);
        expect(of(channel)).toHaveLength(total);
        expect(new Set(of(channel).map(({ to }) => to)).size).toBe(total);
        expect(new Set(of(channel).map(({ account }) => account)).size).toBe(2);
      }
      // The carriers say the same: no number was written to or called twice.
      for (const channel of ['sms', 'voice'] as const) {
        const taken = Object.entries(demo.taken).filter(([carrier]) => carrier.startsWith(channel));
        expect(taken.flatMap(([, numbers]) => numbers).sort()).toEqual(
          of(channel)
            .map(({ to }) => to)
            .sort(),
        );
        for (const [carrier, numbers] of taken) {
          const told = of(channel).filter(({ account }) => carrier === `${channel} ${account}`);
          expect(told.map(({ to }) => to).sort()).toEqual([...numbers].sort());
        }
      }
      expect(linesOf(demo)).toContainEqual(
        expect.stringMatching(/^sms: \d+ recipients, \d+ by Telnyx, \d+ by Twilio$/),
      );
    },
    TIMEOUT_MS,
  );

  test(
    'is a command',
    async () => {
      const tsx = join(ROOT, 'node_modules/tsx/dist/cli.mjs');
      const { stdout } = await promisify(execFile)(process.execPath, [tsx, 'test/demo/main.ts'], {
        cwd: ROOT,
      });
      expect(stdout).toMatch(/^voice: \d+ recipients, \d+ by Telnyx, \d+ by Vonage$/m);
    },
    TIMEOUT_MS,
  );
});
