import { FRAME_MS } from './frame-spectrum';

/** Frames of one tone differ by one measuring error; a sung or spoken vowel varies more. */
const SAME_TONE_HZ = 25;
/**
 * Number of frames that a click or a change of phase may spoil; fax machines change theirs every 450 ms on
 * purpose.
 */
const SPOILT_FRAMES = 1;

/** The present tone, or the last one. */
export interface ToneRun {
  /**
   * Takes the next frame; 0 for a frame without a single tone. Returns whether a tone began, continues or is
   * over.
   */
  next(hz: number): 'began' | 'sounds' | 'ended' | 'none';
  /** Duration of the frames that are wholly the tone: up to 40 ms less than it really lasted. */
  ms(): number;
  hz(): number;
}

export function createToneRun(): ToneRun {
  let frames = 0;
  let sum = 0;
  let count = 0;
  let spoilt = 0;
  let sounding = false;

  const begin = (hz: number): 'began' => {
    sounding = true;
    frames = 1;
    sum = hz;
    count = 1;
    spoilt = 0;
    return 'began';
  };

  return {
    next(hz) {
      if (!sounding) return hz > 0 ? begin(hz) : 'none';
      if (hz > 0 && Math.abs(hz - sum / count) <= SAME_TONE_HZ) {
        frames += spoilt + 1;
        spoilt = 0;
        sum += hz;
        count++;
        return 'sounds';
      }
      if (++spoilt <= SPOILT_FRAMES) return 'sounds';
      sounding = false;
      // Another tone right after it makes a melody; its duration counts from here.
      return hz > 0 ? begin(hz) : 'ended';
    },
    ms: () => frames * FRAME_MS,
    hz: () => (count === 0 ? 0 : sum / count),
  };
}
