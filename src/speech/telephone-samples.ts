import { samplesOf } from './sample-bytes';

/** Samples of a RIFF file (WAVE, PCM) with 16 bits in one channel; undefined for any other file. */
export function readWav(bytes: Buffer): { rate: number; samples: Int16Array } | undefined {
  if (bytes.length < 12 || bytes.toString('latin1', 0, 4) !== 'RIFF') return undefined;
  let rate = 0;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = bytes.toString('latin1', at, at + 4);
    const length = bytes.readUInt32LE(at + 4);
    const from = at + 8;
    if (name === 'fmt ' && length >= 16 && from + 16 <= bytes.length) {
      const isPlain = bytes.readUInt16LE(from) === 1 && bytes.readUInt16LE(from + 2) === 1;
      if (!isPlain || bytes.readUInt16LE(from + 14) !== 16) return undefined;
      rate = bytes.readUInt32LE(from + 4);
    }
    if (name === 'data') {
      // A program that writes to a pipe does not know the length beforehand and gives one that is far too
      // large.
      const samples = samplesOf(bytes.subarray(from, from + length));
      return rate === 0 ? undefined : { rate, samples };
    }
    at = from + length + (length % 2);
  }
  return undefined;
}

/** Passes the telephone's band (to 3.4 kHz) and leaves nothing at 4 kHz, where it would fold back. */
const PASS_HZ = 3_400;
/** Kaiser's parameter for 60 dB, below the noise of the 8 bit coding that a call goes through. */
const BETA = 5.65;
const STOP_DB = 60;

/**
 * Converts samples to a lower rate by a windowed-sinc low-pass, computed only for output samples. The filter
 * has a set of taps for every fraction of an input sample that occurs: 160 for 22,050 to 8,000.
 */
export function createResampler(fromHz: number, toHz: number): (input: Int16Array) => Int16Array {
  if (fromHz === toHz) return (input) => input;
  if (fromHz < toHz) throw new RangeError(`cannot make ${toHz} Hz of ${fromHz} Hz`);
  const divisor = greatestCommonDivisor(fromHz, toHz);
  const step = fromHz / divisor;
  const phases = toHz / divisor;
  const stopHz = toHz / 2;
  // Kaiser's estimate of the filter length for a transition of this width.
  const reach = Math.ceil((STOP_DB - 8) / (2.285 * 2 * Math.PI * ((stopHz - PASS_HZ) / fromHz)) / 2);
  const cutoff = (PASS_HZ + stopHz) / 2 / fromHz;
  const taps = Array.from({ length: phases }, (_, phase) => tapsAt(phase / phases, reach, cutoff));

  return (input) => {
    const output = new Int16Array(Math.floor(((input.length - 1) * phases) / step) + 1);
    for (let i = 0; i < output.length; i++) {
      const position = i * step;
      const phase = taps[position % phases] as Float64Array;
      const first = Math.floor(position / phases) - reach + 1;
      let sum = 0;
      const from = Math.max(0, -first);
      const to = Math.min(phase.length, input.length - first);
      for (let tap = from; tap < to; tap++) sum += (phase[tap] as number) * (input[first + tap] as number);
      output[i] = Math.max(-32_768, Math.min(32_767, Math.round(sum)));
    }
    return output;
  };
}

/** Weights of the 2 × reach input samples around a point `fraction` behind one of them. Their sum is 1. */
function tapsAt(fraction: number, reach: number, cutoff: number): Float64Array {
  const taps = Float64Array.from({ length: 2 * reach }, (_, tap) => {
    const distance = tap - reach + 1 - fraction;
    const window = bessel(BETA * Math.sqrt(Math.max(0, 1 - (distance / reach) ** 2))) / bessel(BETA);
    return 2 * cutoff * sinc(2 * cutoff * distance) * window;
  });
  const sum = taps.reduce((a, b) => a + b, 0);
  return taps.map((tap) => tap / sum);
}

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

/** The modified Bessel function of order 0; 20 terms are exact for arguments as small as ours. */
function bessel(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; k <= 20; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
