/** Proves the step that follows a call, for each outcome and policy. */

import { callFault } from '../../src/domain/call-codes';
import {
  CALL_POLICY_DEFAULT,
  type CallOutcome,
  type CallPolicy,
  callResult,
  callsLeft,
  nextCallStep,
} from '../../src/domain/call-policy';

const POLICY: CallPolicy = {
  retry: {
    busy: { maxAttempts: 3, delaysSeconds: [60, 120] },
    no_answer: { maxAttempts: 2, delaysSeconds: [600] },
  },
  maxAttempts: 4,
  machine: 'speak',
};

const calls = (...outcomes: CallOutcome[]) => outcomes.map((outcome) => ({ outcome }));

describe('what follows a call', () => {
  test('redials a busy line by its table, counting the first call', () => {
    expect(nextCallStep(POLICY, calls('busy'))).toEqual({ kind: 'redial', afterSeconds: 60 });
    expect(nextCallStep(POLICY, calls('busy', 'busy'))).toEqual({ kind: 'redial', afterSeconds: 120 });
    expect(nextCallStep(POLICY, calls('busy', 'busy', 'busy'))).toEqual({
      kind: 'end',
      state: 'undelivered',
      outcome: 'busy',
    });
  });

  test('counts each outcome for itself and all calls together', () => {
    expect(nextCallStep(POLICY, calls('busy', 'no_answer'))).toEqual({ kind: 'redial', afterSeconds: 600 });
    expect(nextCallStep(POLICY, calls('busy', 'no_answer', 'busy'))).toEqual({
      kind: 'redial',
      afterSeconds: 120,
    });
    expect(nextCallStep(POLICY, calls('busy', 'no_answer', 'busy', 'busy'))).toMatchObject({ kind: 'end' });
  });

  test('knows how many calls may follow, by the bound of the latest outcome and by that of all', () => {
    expect(callsLeft(POLICY, calls('no_answer'))).toBe(1);
    expect(callsLeft(POLICY, calls('busy'))).toBe(2);
    expect(callsLeft(POLICY, calls('no_answer', 'busy'))).toBe(2);
    expect(callsLeft(POLICY, calls('no_answer', 'busy', 'busy'))).toBe(1);
    expect(callsLeft(POLICY, calls('busy', 'busy', 'busy'))).toBe(0);
    expect(callsLeft(POLICY, calls('failed'))).toBe(0);
    expect(callsLeft(POLICY, [])).toBe(4);
    expect(callsLeft(POLICY, [{ outcome: 'failed', fault: 'carrier' }, ...calls('busy')])).toBe(2);
    expect(callsLeft(POLICY, [...calls('busy'), { outcome: 'failed', fault: 'carrier' }])).toBe(3);
  });

  test('does not redial an outcome without an entry', () => {
    expect(nextCallStep(POLICY, calls('failed'))).toEqual({
      kind: 'end',
      state: 'failed',
      outcome: 'failed',
    });
    expect(nextCallStep(CALL_POLICY_DEFAULT, calls('busy'))).toMatchObject({
      kind: 'end',
      state: 'undelivered',
    });
    expect(nextCallStep(POLICY, calls('unknown'))).toEqual({
      kind: 'end',
      state: 'unknown',
      outcome: 'unknown',
    });
  });

  test('judges a machine by what the policy wants of it', () => {
    expect(callResult({ end: 'completed', answeredBy: 'human' }, 'speak').outcome).toBe('human');
    expect(callResult({ end: 'completed', answeredBy: 'machine_start' }, 'speak').outcome).toBe('machine');
    expect(callResult({ end: 'completed', answeredBy: 'machine_end_beep' }, 'leave_message').outcome).toBe(
      'voicemail_left',
    );
    expect(callResult({ end: 'busy', answeredBy: undefined }, 'speak').outcome).toBe('busy');
    expect(nextCallStep({ ...POLICY, machine: 'hangup' }, calls('machine'))).toMatchObject({
      state: 'undelivered',
    });
    expect(nextCallStep(POLICY, calls('machine'))).toMatchObject({ state: 'delivered' });
  });

  test('prefers a reported outcome to the one that follows from who answered', () => {
    const beep = { end: 'completed', answeredBy: 'machine_end_beep' } as const;
    expect(callResult({ ...beep, told: 'machine' }, 'leave_message').outcome).toBe('machine');
    expect(callResult({ end: 'completed', told: 'opted_out' }, 'speak').outcome).toBe('opted_out');
    const start = callResult({ end: 'completed', answeredBy: 'machine_start' }, 'leave_message');
    expect(start.outcome).toBe('machine');
    expect(nextCallStep({ ...POLICY, machine: 'leave_message' }, [start])).toMatchObject({
      state: 'undelivered',
    });
    expect(nextCallStep(POLICY, calls('opted_out'))).toMatchObject({ kind: 'end', state: 'delivered' });
  });

  test('asks again for a call that its carrier could not place, so often and without counting', () => {
    const fault = callResult({ end: 'failed', fault: callFault('network_failure') }, 'speak');
    const delays = [1, 2, 3, 4, 5].map((faults) => {
      const step = nextCallStep({ ...POLICY, faultSeconds: 10 }, Array(faults).fill(fault));
      return step.kind === 'redial' ? step.afterSeconds : step.state;
    });
    expect(delays).toEqual([10, 20, 40, 80, 80]);
    expect(nextCallStep(POLICY, Array(6).fill(fault))).toMatchObject({ kind: 'end', state: 'failed' });
    expect(nextCallStep(POLICY, [fault, fault, fault, fault, ...calls('busy')])).toEqual({
      kind: 'redial',
      afterSeconds: 60,
    });
  });

  test('never redials a number that does not exist or a callee who does not want calls', () => {
    const policy = { ...POLICY, retry: { failed: { maxAttempts: 9, delaysSeconds: [1] } } };
    for (const code of ['unknown_recipient', '404', 'sip_484', '604']) {
      const result = callResult({ end: 'rejected', fault: callFault(code) }, 'speak');
      expect(nextCallStep(policy, [result])).toEqual({ kind: 'end', state: 'failed', outcome: 'failed' });
    }
    const unwanted = callResult({ end: 'failed', fault: callFault('607') }, 'speak');
    expect(nextCallStep(policy, [unwanted])).toMatchObject({ kind: 'end', outcome: 'rejected' });
    expect([callFault('sip_503'), callFault('486'), callFault('attempts_exhausted')]).toEqual([
      'carrier',
      undefined,
      undefined,
    ]);
  });

  test('spreads a delay by its jitter, later only, and the same for the same call', () => {
    const policy = { ...POLICY, retry: { busy: { maxAttempts: 9, delaysSeconds: [100], jitter: 0.5 } } };
    const delayOf = (seed: string) => {
      const step = nextCallStep(policy, calls('busy'), seed);
      return step.kind === 'redial' ? step.afterSeconds : -1;
    };
    const delays = Array.from({ length: 200 }, (_, i) => delayOf(`run.${i}`));
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...delays)).toBeLessThanOrEqual(150);
    expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(40);
    expect(delayOf('run.7')).toBe(delayOf('run.7'));
  });
});
