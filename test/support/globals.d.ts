import type { Broker } from './broker';

declare global {
  /** Set by global-setup.ts, in jest's own process only. */
  var testBroker: Broker | undefined;
  /** Set by environment.ts, in test files. */
  var testHasFailed: boolean;
  var fileHasFailed: boolean;
}
