/** Proves which call options are sent to a service. */

import { callOptions } from '../../src/domain/call-options';

describe('the call options sent to a service', () => {
  test('is all that its sender asked for of the call itself', () => {
    const wishes = { machine: 'hangup', ringTimeoutSeconds: 20, maxSeconds: 60 } as const;
    const redials = { maxAttempts: 3 };
    expect(callOptions({ ...wishes, ...redials })).toEqual(wishes);
    expect(callOptions({ maxSeconds: 60 })).toEqual({ maxSeconds: 60 });
  });

  test('is nothing without a wish', () => {
    expect(callOptions(undefined)).toBeUndefined();
    expect(callOptions({})).toBeUndefined();
  });
});
