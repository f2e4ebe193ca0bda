import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Provider } from '../../../src/providers/provider';
import { openSimulator, type SimulatorOptions } from '../../../src/providers/simulator/simulator';

/** Each test's own directory, with simulators over it that are closed at its end in the order of opening. */
export function simulators() {
  let directory: string;
  let opened: Provider[];
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
    opened = [];
  });
  afterEach(async () => {
    await Promise.all(opened.map((simulator) => simulator.close()));
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    directory: () => directory,
    opened: () => opened,
    async open(options: Partial<SimulatorOptions> = {}): Promise<Provider> {
      const simulator = await openSimulator({ channel: 'sms', directory, seed: 1, latencyMs: 0, ...options });
      opened.push(simulator);
      return simulator;
    },
  };
}
