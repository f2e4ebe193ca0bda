/** 20 ms at 8 kHz: one packet of telephone networks, with a resolution of exactly 50 Hz. */
const SAMPLE_RATE = 8_000;
export const FRAME_SAMPLES = 160;
export const FRAME_MS = (FRAME_SAMPLES / SAMPLE_RATE) * 1_000;

const BIN_HZ = SAMPLE_RATE / FRAME_SAMPLES;
/** Beeps lie between 400 and 2,000 Hz, an answering fax at 2,100; one more bin on either side. */
const FIRST_BIN = 350 / BIN_HZ;
const LAST_BIN = 2_200 / BIN_HZ;
/**
 * The share of a frame's power that a single tone has in three bins. In the worst case, halfway between two
 * bins, it is 86 %; the rest is left to noise. A square wave's harmonics have 19 %, so that buzzers count as
 * tones too.
 */
const TONE_SHARE = 0.7;
/**
 * The largest share at half the frequency and half of it above. A high voice's "oo" has nearly all its power
 * in its second harmonic; only its first and third distinguish it from a beep. A tone leaves less than 1 %
 * there.
 */
const VOICE_SHARE = 0.03;
/** The level of frames without any power, so that logarithms stay finite. */
const SILENCE_DB = -100;
const FULL_SCALE = 32_768;

/** Goertzel filters for one frame. They are created once per call and allocate nothing afterwards. */
export interface FrameSpectrum {
  /** Power of the frame in dB below full scale, without its direct current. */
  powerDb(frame: Int16Array): number;
  /** The frequency of the one tone that makes up the frame, or 0. Call it after `powerDb` of the same frame. */
  toneHz(frame: Int16Array): number;
}

export function createFrameSpectrum(): FrameSpectrum {
  const bins = LAST_BIN - FIRST_BIN + 1;
  const coefficients = Float64Array.from({ length: bins }, (_, i) => coefficientAt((FIRST_BIN + i) * BIN_HZ));
  const powers = new Float64Array(bins);
  let energy = 0;
  // By Parseval's theorem, a real tone right on a bin has N/2 times its energy there.
  const shareOf = (power: number) => (2 * power) / (FRAME_SAMPLES * energy);

  return {
    powerDb(frame) {
      let sum = 0;
      let squares = 0;
      for (let i = 0; i < FRAME_SAMPLES; i++) {
        const sample = frame[i] as number;
        sum += sample;
        squares += sample * sample;
      }
      energy = squares - (sum * sum) / FRAME_SAMPLES;
      const power = energy / (FRAME_SAMPLES * FULL_SCALE * FULL_SCALE);
      return power > 1e-10 ? 10 * Math.log10(power) : SILENCE_DB;
    },

    toneHz(frame) {
      if (energy <= 0) return 0;
      let peak = 1;
      for (let bin = 0; bin < bins; bin++) {
        const power = goertzel(frame, coefficients[bin] as number);
        powers[bin] = power;
        // The outermost bins are neighbours only, because the peak of a tone there lies outside.
        if (bin > 0 && bin < bins - 1 && power > (powers[peak] as number)) peak = bin;
      }
      const below = powers[peak - 1] as number;
      const at = powers[peak] as number;
      const above = powers[peak + 1] as number;
      if (at < below || at < above) return 0;
      if (shareOf(below + at + above) < TONE_SHARE) return 0;
      // Between two bins, the ratio of their amplitudes is the ratio of the distances.
      const side = Math.max(below, above);
      const offset = Math.sqrt(side) / (Math.sqrt(side) + Math.sqrt(at));
      const hz = (FIRST_BIN + peak + (above > below ? offset : -offset)) * BIN_HZ;
      const voice = goertzel(frame, coefficientAt(hz / 2)) + goertzel(frame, coefficientAt(1.5 * hz));
      return shareOf(voice) > VOICE_SHARE ? 0 : hz;
    },
  };
}

const coefficientAt = (hz: number): number => 2 * Math.cos((2 * Math.PI * hz) / SAMPLE_RATE);

function goertzel(frame: Int16Array, coefficient: number): number {
  let one = 0;
  let two = 0;
  for (let i = 0; i < FRAME_SAMPLES; i++) {
    const next = (frame[i] as number) + coefficient * one - two;
    two = one;
    one = next;
  }
  return one * one + two * two - coefficient * one * two;
}
