import {
  type AnswerOptions,
  createAnswerDetector,
} from '../../../src/domain/voice/answer-detection/answer-detector';
import type { AnsweredBy, Detection } from '../../../src/domain/voice/answer-detection/detection';
import { atLevel, join, RATE, type Random, say, seeded, silence, tone, VOICES, withNoise } from './greetings';

const PEOPLE = [
  'Hello?',
  'Yes?',
  'Hello, this is Ann speaking',
  'Hi, who is this?',
  'Good morning, Ann speaking',
  'Hello? Hello?',
  'Smith residence',
  'Yeah, hello',
];
const MACHINES = [
  'Hello, you have reached Ann and Peter. We cannot come to the phone right now. Please leave a message after the tone.',
  'The person you are calling is not available. At the tone, please record your message. When you have finished recording, you may hang up.',
  'Hi, this is Ann. I am away until Monday, the seventh of June. If it is urgent, please call the office.',
  'Welcome to the voice mail box of five five five, one two three four. Nobody is here to take your call.',
  'You have reached the office of Miller and Sons. Our opening hours are from nine to five. Please call again.',
];

/** Kinds of calls, how many of each, and what the last verdict must be. */
const KINDS: readonly { answeredBy: AnsweredBy; samples: number; make(random: Random): Int16Array }[] = [
  { answeredBy: 'human', samples: 90, make: (random) => join(spokenBy(random, PEOPLE), silence(1_500)) },
  {
    answeredBy: 'machine_end_beep',
    samples: 60,
    make: (random) =>
      join(
        greeting(random),
        silence(between(random, 100, 1_800)),
        atLevel(tone(between(random, 420, 1_950), between(random, 130, 1_000)), between(random, -24, -12)),
        silence(500),
      ),
  },
  {
    answeredBy: 'machine_end_silence',
    samples: 50,
    make: (random) => join(greeting(random), silence(5_000)),
  },
  { answeredBy: 'fax', samples: 24, make: fax },
  { answeredBy: 'unknown', samples: 16, make: () => silence(5_000) },
];

describe('who answers, of 240 calls from a seed', () => {
  test('is recognised correctly in at least 95 of 100', () => {
    const table = new Map<AnsweredBy, Map<string, number>>();
    const wrong: string[] = [];
    let audioSeconds = 0;
    let tookMs = 0;
    let seed = 0;
    for (const { answeredBy, samples, make } of KINDS) {
      const row = new Map<string, number>();
      table.set(answeredBy, row);
      for (let i = 0; i < samples; i++) {
        const random = seeded(++seed);
        const call = onALine(make(random), random);
        audioSeconds += call.length / RATE;
        const startedAt = performance.now();
        const detections = detect(call);
        tookMs += performance.now() - startedAt;
        const found = detections.at(-1)?.answeredBy ?? 'nothing';
        row.set(found, (row.get(found) ?? 0) + 1);
        if (found !== answeredBy) wrong.push(`seed ${seed}, ${answeredBy}: ${JSON.stringify(detections)}`);
      }
    }
    const total = KINDS.reduce((sum, { samples }) => sum + samples, 0);
    const right = total - wrong.length;
    const perSecond = Math.round((tookMs * 1_000) / audioSeconds);
    process.stdout.write(
      `${confusion(table)}\n${right} of ${total} right; ${perSecond} µs a second of audio\n${wrong.join('\n')}\n`,
    );
    expect(right / total).toBeGreaterThanOrEqual(0.95);
  }, 150_000);
});

function greeting(random: Random): Int16Array {
  const voice = pick(random, VOICES);
  const sentences = pick(random, MACHINES).split(/(?<=\.) /);
  // People who record a greeting pause between its sentences.
  return atLevel(
    join(...sentences.flatMap((text) => [say(text, voice), silence(between(random, 150, 700))])),
    between(random, -26, -14),
  );
}

const spokenBy = (random: Random, texts: readonly string[]): Int16Array =>
  atLevel(say(pick(random, texts), pick(random, VOICES)), between(random, -26, -14));

function fax(random: Random): Int16Array {
  const level = between(random, -28, -12);
  return random() < 0.5
    ? join(
        silence(between(random, 200, 2_500)),
        atLevel(tone(between(random, 2_086, 2_114), 3_000), level),
        silence(500),
      )
    : join(atLevel(tone(between(random, 1_070, 1_130), between(random, 430, 570)), level), silence(500));
}

/** A pause before anybody speaks, and the noise of a quiet, a usual or a bad line. */
function onALine(call: Int16Array, random: Random): Int16Array {
  const heard = join(silence(between(random, 60, 1_600)), call);
  const db = pick(random, [undefined, -65, -55, -48, -42]);
  return db === undefined ? heard : withNoise(heard, { db, rumbling: random() < 0.4, random });
}

const between = (random: Random, min: number, max: number): number =>
  Math.round(min + random() * (max - min));
const pick = <Item>(random: Random, items: readonly Item[]): Item =>
  items[Math.floor(random() * items.length)] as Item;

function detect(call: Int16Array, options?: Partial<AnswerOptions>, frame = 160): Detection[] {
  const detector = createAnswerDetector(options);
  const found: Detection[] = [];
  for (let at = 0; at < call.length; at += frame) {
    const detection = detector.push(call.subarray(at, at + frame));
    if (detection) found.push(detection);
  }
  const last = detector.end();
  return last ? [...found, last] : found;
}

function confusion(table: ReadonlyMap<AnsweredBy, ReadonlyMap<string, number>>): string {
  const columns = [...new Set([...table.keys(), ...[...table.values()].flatMap((row) => [...row.keys()])])];
  const width = 20;
  const line = (cells: readonly (string | number)[]) =>
    cells.map((cell) => `${cell}`.padStart(width)).join('');
  return [
    line(['is \\ taken for', ...columns]),
    ...[...table].map(([kind, row]) => line([kind, ...columns.map((column) => row.get(column) ?? 0)])),
  ].join('\n');
}
