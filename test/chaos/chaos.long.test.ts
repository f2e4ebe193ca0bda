import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../support/root';

/** From source: the build holds the product, not the tests. */
const CHAOS = ['--require', require.resolve('tsx/cjs'), join(ROOT, 'test/chaos/main.ts')];

interface Result {
  code: number | null;
  told: string;
  result: Record<'faults' | 'campaigns' | 'canceled' | 'recipients' | 'singles' | 'taken' | 'broken', number>;
}

async function runChaos(...args: string[]): Promise<Result> {
  const child = spawn(process.execPath, [...CHAOS, ...args]);
  let out = '';
  let told = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    told += chunk;
  });
  const code = await new Promise<number | null>((done) => child.once('close', done));
  if (!out) throw new Error(`chaos ended with ${code}:\n${told}`);
  return { code, told, result: JSON.parse(out) as Result['result'] };
}

/** A canceled campaign may have fewer recipients. Of those that go from channel to channel, few are sent to on the second. */
function expectMost(
  { campaigns, canceled, recipients, singles, taken }: Result['result'],
  each: number,
): void {
  const whole = (campaigns - canceled) * each;
  expect(recipients).toBeGreaterThanOrEqual(whole);
  expect(recipients).toBeLessThanOrEqual(campaigns * each);
  expect(singles).toBeGreaterThan(50);
  expect(taken - singles).toBeGreaterThan(whole * 0.5);
}

describe('an installation whose parts are killed, stalled and cut off from each other', () => {
  test('accounts for every recipient of both workspaces, and hands no message over twice', async () => {
    const { code, told, result } = await runChaos('--seed', '5', '--minutes', '0.4');
    expect([told.match(/BROKEN.*/g), code]).toEqual([null, 0]);
    expect(result.faults).toBeGreaterThanOrEqual(5);
    expect(result.campaigns).toBeGreaterThanOrEqual(2);
    expectMost(result, 3_000);
  }, 400_000);

  test('accounts for every recipient where it runs its own servers, and these are killed too', async () => {
    const { code, told, result } = await runChaos('--installation', 'up', '--seed', '5', '--minutes', '0.4');
    expect([told.match(/BROKEN.*/g), code]).toEqual([null, 0]);
    expect(result.faults).toBeGreaterThanOrEqual(5);
    expectMost(result, 3_000);
  }, 400_000);

  test('accounts for every recipient of campaigns in stages', async () => {
    const { code, told, result } = await runChaos(
      ...['--seed', '9', '--minutes', '0.5', '--campaigns', 'staged', '--at-once', '7', '--contacts', '300'],
    );
    expect([told.match(/BROKEN.*/g), code]).toEqual([null, 0]);
    expect(result.faults).toBeGreaterThanOrEqual(5);
    // Seven are begun at once, as far as the machine gets: one with three suites beside it got to three.
    expect(result.campaigns).toBeGreaterThanOrEqual(2);
    expectMost(result, 600);
  }, 400_000);

  test('would be caught if it forgot what it had claimed', async () => {
    const args = ['--seed', '2', '--minutes', '0.2', '--only', 'kill serve', '--break', 'claim'];
    const { code, told } = await runChaos(...args);
    expect(code).toBe(1);
    expect(told).toMatch(/BROKEN: nothing is handed over twice/);
  }, 300_000);
});
