import fc from 'fast-check';
import {
  type AnswerOptions,
  createAnswerDetector,
} from '../../../src/domain/voice/answer-detection/answer-detector';
import type { AnsweredBy, Detection } from '../../../src/domain/voice/answer-detection/detection';
import { actionAfter } from '../../../src/domain/voice/answer-detection/machine-behaviour';
import { join, RATE, seeded, silence, tone, withNoise } from './greetings';

/** Sound of a voice's level that is no tone. */
const sound = (ms: number, db = -20) => withNoise(silence(ms), { db, rumbling: false, random: seeded(ms) });
/** So many words of 300 ms, 100 ms apart. */
const words = (count: number) => join(...Array.from({ length: count }, () => join(sound(300), silence(100))));

describe('the first word', () => {
  test('that does not come within five seconds leaves it unknown who answered', () => {
    const [found] = detect(silence(10_000));
    expect(found).toMatchObject({ answeredBy: 'unknown', reason: 'nobody_spoke', confidence: 0 });
    expect(found).toMatchObject({ decidedAtMs: 5_000, timings: { words: 0, initialSilenceMs: 5_000 } });
  });

  test('is no click of less than 100 ms', () => {
    const clicks = join(...Array.from({ length: 12 }, () => join(sound(60), silence(440))));
    expect(detect(clicks)[0]).toMatchObject({ reason: 'nobody_spoke', timings: { words: 0 } });
  });

  test('is not the noise of the line, however loud', () => {
    for (const db of [-60, -45, -35]) expect(detect(sound(8_000, db))[0]?.reason).toBe('nobody_spoke');
  });
});

describe('a greeting', () => {
  test('that ends soon and is followed by a second of silence is a person', () => {
    const [found, ...more] = detect(join(silence(400), words(2), silence(2_000)));
    expect(found).toMatchObject({ answeredBy: 'human', reason: 'short_greeting' });
    expect(found?.timings).toMatchObject({
      initialSilenceMs: 400,
      greetingMs: 700,
      words: 2,
      longestPauseMs: 100,
    });
    expect(found?.decidedAtMs).toBe(400 + 700 + 1_000);
    expect(more).toEqual([]);
  });

  test('that goes on for 2.4 s is a machine, detected while it still speaks', () => {
    const [found] = detect(words(12));
    expect(found).toMatchObject({ answeredBy: 'machine_start', reason: 'long_greeting' });
    // The seventh word begins then, and takes 100 ms to be one.
    expect(found?.decidedAtMs).toBe(2_500);
  });

  test('of many short words is a machine, although its pauses are long', () => {
    const slow = join(...Array.from({ length: 8 }, () => join(sound(200), silence(900))));
    const found = detect(slow, { greetingMaxMs: 60_000, wordsMax: 4 })[0];
    expect(found).toMatchObject({ answeredBy: 'machine_start', reason: 'many_words' });
  });

  test('of a machine ends with the beep', () => {
    const call = join(words(10), silence(700), tone(1_000, 400), silence(500));
    const [start, end] = detect(call);
    expect(start?.answeredBy).toBe('machine_start');
    expect(end).toMatchObject({ answeredBy: 'machine_end_beep', reason: 'beep', timings: { toneHz: 1_000 } });
    expect(end?.decidedAtMs).toBe(4_000 + 700 + 400 + 100);
  });

  test('of a machine ends with 2.5 s of silence when there is no beep', () => {
    const ends = detect(join(words(10), silence(4_000)));
    expect(ends.map(({ answeredBy }) => answeredBy)).toEqual(['machine_start', 'machine_end_silence']);
    expect(ends[1]?.decidedAtMs).toBe(3_900 + 2_500);
  });

  test('of a machine that never ends is given up', () => {
    const found = detect(words(40), { greetingEndWithinMs: 5_000 });
    expect(found.at(-1)).toMatchObject({
      answeredBy: 'unknown',
      reason: 'greeting_too_long',
      decidedAtMs: 7_500,
    });
  });

  test('that is short and ends with a beep is a machine', () => {
    const found = detect(join(words(2), silence(300), tone(1_400, 200), silence(500)));
    expect(found.map(({ answeredBy }) => answeredBy)).toEqual(['machine_end_beep']);
  });
});

describe('a tone', () => {
  const lastOf = (sample: Int16Array) => detect(join(words(10), silence(500), sample, silence(3_000))).at(-1);

  test('is a beep from 400 to 2,000 Hz and from 100 ms to 2 s', () => {
    const beeps: [hz: number, ms: number][] = [
      [405, 300],
      [425, 300],
      [1_000, 100],
      [1_333, 110],
      [1_990, 300],
      [800, 1_950],
    ];
    for (const [hz, ms] of beeps) {
      const found = lastOf(tone(hz, ms));
      expect(found?.reason).toBe('beep');
      expect(Math.abs((found?.timings.toneHz ?? 0) - hz)).toBeLessThan(12);
    }
    for (const [hz, ms] of [
      [300, 300],
      [2_300, 300],
      [1_000, 40],
      [1_000, 2_600],
    ] as const) {
      expect(lastOf(tone(hz, ms))?.reason).toBe('silence_after_greeting');
    }
  });

  test('with a second one, or that slides, is no beep', () => {
    const other = tone(1_200, 400, 4_000);
    const two = tone(700, 400, 4_000).map((sample, i) => sample + (other[i] as number));
    expect(lastOf(two)?.reason).toBe('silence_after_greeting');
    const sliding = Int16Array.from({ length: 4_000 }, (_, i) => 8_000 * Math.sin((i * i) / 4_000));
    expect(lastOf(sliding)?.reason).toBe('silence_after_greeting');
  });

  test('that is the second harmonic of a high voice is no beep', () => {
    const [first, third] = [tone(275, 400, 2_000), tone(825, 400, 1_500)];
    const vowel = tone(550, 400).map((sample, i) => sample + (first[i] as number) + (third[i] as number));
    expect(lastOf(vowel)?.reason).toBe('silence_after_greeting');
  });

  test('is no beep when more sound follows at once', () => {
    expect(lastOf(join(tone(1_000, 200), sound(400)))?.reason).toBe('silence_after_greeting');
  });

  test('is heard through noise', () => {
    const call = join(words(10), silence(500), tone(900, 300, 3_000), silence(800));
    const noisy = withNoise(call, { db: -35, rumbling: false, random: seeded(5) });
    expect(detect(noisy).at(-1)?.reason).toBe('beep');
  });

  test('of a fax that answers is detected after 0.6 s', () => {
    const [found] = detect(join(silence(2_000), tone(2_100, 3_000)));
    expect(found).toMatchObject({ answeredBy: 'fax', decidedAtMs: 2_600 });
  });

  test('of a fax that answers may change its phase, as those that reach 14,400 bit/s do', () => {
    const part = tone(2_100, 450);
    const turned = part.map((sample) => -sample);
    expect(detect(join(silence(1_000), part, turned, part, turned))[0]?.answeredBy).toBe('fax');
  });

  test('of a fax that calls counts only before the first word', () => {
    const calling = join(tone(1_100, 500), silence(1_000));
    expect(detect(calling)[0]?.answeredBy).toBe('fax');
    expect(detect(join(words(10), silence(500), calling)).at(-1)?.answeredBy).toBe('machine_end_beep');
  });
});

describe('the end of a call', () => {
  test('without a verdict leaves it unknown, and after one says nothing', () => {
    expect(detect(words(1))).toMatchObject([{ answeredBy: 'unknown', reason: 'call_ended' }]);
    expect(createAnswerDetector().end()).toMatchObject({ decidedAtMs: 0 });
    expect(detect(join(words(1), silence(2_000)))).toHaveLength(1);
  });

  test('right behind the beep does not lose it', () => {
    expect(detect(join(words(10), silence(500), tone(1_000, 300))).at(-1)?.answeredBy).toBe(
      'machine_end_beep',
    );
  });
});

describe('whatever is heard', () => {
  const part = fc.oneof(
    fc.record({
      kind: fc.constant('noise'),
      ms: fc.integer({ min: 0, max: 900 }),
      by: fc.integer({ min: -70, max: 6 }),
    }),
    fc.record({
      kind: fc.constant('tone'),
      ms: fc.integer({ min: 0, max: 900 }),
      by: fc.integer({ min: 1, max: 3_999 }),
    }),
    fc.record({ kind: fc.constant('raw'), ms: fc.integer({ min: 0, max: 40 }), by: fc.constant(0) }),
  );
  const calls = fc.array(part, { minLength: 1, maxLength: 20 }).map((parts) =>
    join(
      ...parts.map(({ kind, ms, by }) => {
        if (kind === 'noise') return sound(ms, by);
        if (kind === 'tone') return tone(by, ms, 32_767);
        return Int16Array.from({ length: ms * 8 }, (_, i) => (i % 2 === 0 ? -32_768 : 32_767));
      }),
    ),
  );
  const bounds = {
    initialSilenceMs: 1_500,
    decideWithinMs: 2_500,
    greetingEndWithinMs: 2_000,
    greetingMaxMs: 1_200,
  };

  test('there is a first verdict and a last one within their bounds', () => {
    fc.assert(
      fc.property(calls, (call) => {
        const found = detect(join(call, silence(5_000)), bounds);
        expect(found.length === 1 || (found.length === 2 && found[0]?.answeredBy === 'machine_start')).toBe(
          true,
        );
        expect(found[0]?.decidedAtMs).toBeLessThanOrEqual(bounds.decideWithinMs);
        expect(found.at(-1)?.decidedAtMs).toBeLessThanOrEqual(
          bounds.decideWithinMs + bounds.greetingEndWithinMs,
        );
        for (const { confidence, timings } of found) {
          expect(confidence).toBeGreaterThanOrEqual(0);
          expect(confidence).toBeLessThanOrEqual(1);
          expect(Object.values(timings).every(Number.isFinite)).toBe(true);
        }
      }),
      { numRuns: 40 },
    );
  });

  test('the verdicts do not depend on how the audio is cut into frames', () => {
    fc.assert(
      fc.property(calls, fc.integer({ min: 1, max: 400 }), (call, frame) => {
        expect(detect(call, bounds, frame)).toEqual(detect(call, bounds));
      }),
      { numRuns: 20 },
    );
  });
});

describe('what is done about it', () => {
  const found = (answeredBy: AnsweredBy) => ({ answeredBy }) as Detection;
  const at = (nowMs: number) => ({ nowMs, waitMaxMs: 60_000 });

  test.each([
    ['human', 'speak', 'speak', 'speak'],
    ['machine_start', 'speak', 'hang_up', 'wait'],
    ['machine_end_beep', 'speak', 'hang_up', 'leave'],
    ['machine_end_silence', 'speak', 'hang_up', 'leave'],
    ['fax', 'hang_up', 'hang_up', 'hang_up'],
    ['unknown', 'speak', 'speak', 'speak'],
  ] as const)('%s: speak does %s, hangup does %s, leave_message does %s', (answeredBy, ...actions) => {
    const behaviours = ['speak', 'hangup', 'leave_message'] as const;
    expect(behaviours.map((behaviour) => actionAfter(behaviour, [found(answeredBy)], at(0)))).toEqual(
      actions,
    );
  });

  test('waits for a verdict, and no longer than it may', () => {
    expect(actionAfter('hangup', [], at(59_999))).toBe('wait');
    expect(actionAfter('hangup', [], at(60_000))).toBe('speak');
    expect(actionAfter('leave_message', [found('machine_start')], at(59_999))).toBe('wait');
    expect(actionAfter('leave_message', [found('machine_start')], at(60_000))).toBe('hang_up');
  });

  test('leaves no message in a greeting that does not end', () => {
    const detections = [found('machine_start'), found('unknown')];
    expect(actionAfter('leave_message', detections, at(0))).toBe('hang_up');
    expect(actionAfter('speak', detections, at(0))).toBe('speak');
  });
});

function detect(call: Int16Array, options?: Partial<AnswerOptions>, frame = RATE / 50): Detection[] {
  const detector = createAnswerDetector(options);
  const found: Detection[] = [];
  for (let at = 0; at < call.length; at += frame) {
    const detection = detector.push(call.subarray(at, at + frame));
    if (detection) found.push(detection);
  }
  const last = detector.end();
  return last ? [...found, last] : found;
}
