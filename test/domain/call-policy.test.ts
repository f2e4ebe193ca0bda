import {
  CALL_POLICY_DEFAULT,
  type CallPolicy,
  callOutcome,
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

describe('what follows a call', () => {
  it('redials a busy line by its table, counting the first call', () => {
    expect(nextCallStep(POLICY, ['busy'])).toEqual({ kind: 'redial', afterSeconds: 60 });
    expect(nextCallStep(POLICY, ['busy', 'busy'])).toEqual({ kind: 'redial', afterSeconds: 120 });
    expect(nextCallStep(POLICY, ['busy', 'busy', 'busy'])).toEqual({
      kind: 'end',
      state: 'undelivered',
      outcome: 'busy',
    });
  });

  it('counts each outcome for itself and all calls together', () => {
    expect(nextCallStep(POLICY, ['busy', 'no_answer'])).toEqual({ kind: 'redial', afterSeconds: 600 });
    expect(nextCallStep(POLICY, ['busy', 'no_answer', 'busy'])).toEqual({
      kind: 'redial',
      afterSeconds: 120,
    });
    expect(nextCallStep(POLICY, ['busy', 'no_answer', 'busy', 'busy'])).toMatchObject({ kind: 'end' });
  });

  it('does not redial an outcome without an entry', () => {
    expect(nextCallStep(POLICY, ['failed'])).toEqual({ kind: 'end', state: 'failed', outcome: 'failed' });
    expect(nextCallStep(CALL_POLICY_DEFAULT, ['busy'])).toMatchObject({ kind: 'end', state: 'undelivered' });
    expect(nextCallStep(POLICY, ['unknown'])).toEqual({ kind: 'end', state: 'unknown', outcome: 'unknown' });
  });

  it('judges a machine by what the policy wants of it', () => {
    expect(callOutcome('completed', 'human', 'speak')).toBe('human');
    expect(callOutcome('completed', 'machine_start', 'speak')).toBe('machine');
    expect(callOutcome('completed', 'machine_end_beep', 'leave_message')).toBe('voicemail_left');
    expect(callOutcome('busy', undefined, 'speak')).toBe('busy');
    expect(nextCallStep({ ...POLICY, machine: 'hangup' }, ['machine'])).toMatchObject({
      state: 'undelivered',
    });
    expect(nextCallStep(POLICY, ['machine'])).toMatchObject({ state: 'delivered' });
  });
});
