import { FRAME_MS } from './frame-spectrum';

/** Frames of one tone differ by the error of one measurement; a sung or spoken vowel slides further. */
const SAME_TONE_HZ = 25;
/** A frame that a click or a change of phase spoils; fax machines change theirs every 450 ms on purpose. */
const SPOILT_FRAMES = 1;

/** The tone that is sounding, or the last one that did. */
export interface ToneRun {
  /** Takes the next frame; 0 for a frame that is no single tone. Tells whether a tone began, goes on or is over. */
  next(hz: number): 'began' | 'sounds' | 'ended' | 'none';
  /** Of frames that are wholly the tone: up to 40 ms less than it really lasted. */
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
      // Another tone right behind it is a melody; it counts from here.
      return hz > 0 ? begin(hz) : 'ended';
    },
    ms: () => frames * FRAME_MS,
    hz: () => (count === 0 ? 0 : sum / count),
  };
}
