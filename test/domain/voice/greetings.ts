import { execFileSync } from 'node:child_process';
import { createResampler, readWav } from '../../../src/speech/telephone-samples';

/** What callees sound like: spoken by espeak-ng or made of tones, in noise, all from a seed. */
export const RATE = 8_000;
const resample = createResampler(22_050, RATE);
const spoken = new Map<string, Int16Array>();

export interface Voice {
  name: string;
  wordsPerMinute: number;
  pitch: number;
}

export const VOICES: readonly Voice[] = [
  { name: 'en-us', wordsPerMinute: 160, pitch: 50 },
  { name: 'en-us+f2', wordsPerMinute: 175, pitch: 60 },
  { name: 'en-gb', wordsPerMinute: 135, pitch: 35 },
  { name: 'en-gb+f4', wordsPerMinute: 190, pitch: 75 },
];

export function say(text: string, { name, wordsPerMinute, pitch }: Voice): Int16Array {
  const key = `${name} ${wordsPerMinute} ${pitch} ${text}`;
  const known = spoken.get(key);
  if (known) return known;
  const args = ['-v', name, '-s', `${wordsPerMinute}`, '-p', `${pitch}`, '-z', '--stdin', '--stdout'];
  const wav = readWav(execFileSync('espeak-ng', args, { input: text, maxBuffer: 1 << 26 }));
  if (wav?.rate !== 22_050) throw new Error('espeak-ng has changed its rate');
  const samples = resample(wav.samples);
  spoken.set(key, samples);
  return samples;
}

export function tone(hz: number, ms: number, amplitude = 8_000): Int16Array {
  const step = (2 * Math.PI * hz) / RATE;
  return Int16Array.from({ length: (ms * RATE) / 1_000 }, (_, i) =>
    Math.round(amplitude * Math.sin(step * i)),
  );
}

export const silence = (ms: number): Int16Array => new Int16Array(Math.round((ms * RATE) / 1_000));

export function join(...parts: readonly Int16Array[]): Int16Array {
  const joined = new Int16Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Scaled so that its mean power is `db` below full scale, pauses included. */
export function atLevel(samples: Int16Array, db: number): Int16Array {
  const power = meanPower(samples);
  return power === 0 ? samples : mix(samples, (32_768 * 10 ** (db / 20)) / Math.sqrt(power), undefined);
}

/** Half a minute of noise is made once and begins somewhere else in each call: making it takes longest. */
const NOISE_SAMPLES = 30 * RATE;
const noises = new Map<boolean, Float64Array>();

/** Noise of mean power `db` below full scale; a `rumbling` one has most of it in low frequencies. */
export function withNoise(
  samples: Int16Array,
  { db, rumbling, random }: { db: number; rumbling: boolean; random: Random },
): Int16Array {
  const noise = noises.get(rumbling) ?? makeNoise(rumbling);
  noises.set(rumbling, noise);
  const factor = (32_768 * 10 ** (db / 20)) / Math.sqrt(meanPower(noise));
  return mix(samples, 1, { noise, factor, from: Math.floor(random() * noise.length) });
}

function makeNoise(rumbling: boolean): Float64Array {
  const random = seeded(rumbling ? 2 : 1);
  const noise = new Float64Array(NOISE_SAMPLES);
  let last = 0;
  for (let i = 0; i < noise.length; i++) {
    // The sum of three is near enough to a normal distribution.
    const white = random() + random() + random() - 1.5;
    last = rumbling ? 0.9 * last + white : white;
    noise[i] = last;
  }
  return noise;
}

function meanPower(samples: Int16Array | Float64Array): number {
  let sum = 0;
  for (let i = 0; i < samples.length; i++) sum += (samples[i] as number) ** 2;
  return sum / Math.max(1, samples.length);
}

function mix(
  samples: Int16Array,
  gain: number,
  added: { noise: Float64Array; factor: number; from: number } | undefined,
): Int16Array {
  const mixed = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; i++) {
    const noise = added ? added.factor * (added.noise[(added.from + i) % added.noise.length] as number) : 0;
    const value = gain * (samples[i] as number) + noise;
    // Without Math, since reading a global from inside jest's sandbox takes longer than all the rest.
    if (value > 32_767) mixed[i] = 32_767;
    else if (value < -32_768) mixed[i] = -32_768;
    else mixed[i] = value;
  }
  return mixed;
}

export type Random = () => number;

/** mulberry32: small, seeded, and good enough for noise. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
