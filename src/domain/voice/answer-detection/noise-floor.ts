/** Six parts of 0.25 s: speech hardly ever goes on for 1.5 s without closing the lips once. */
const PARTS = 6;
const PART_FRAMES = 13;
/** A caller in a street; what is louder from the first moment on is taken for a voice, not for a line. */
const CEILING_DB = -30;
/** Comfort noise and echoes lie below, the faintest speakers above; Asterisk's threshold of 256 is -42 dB. */
const AUDIBLE_DB = -45;
/** Above the floor: to begin to be a voice, and to go on being one. A single frame of white noise varies by 2 dB. */
const BEGIN_DB = 9;
const GO_ON_DB = 6;

/**
 * What a line sounds like when nobody speaks: the least power of the last second and a half. It falls at
 * once and rises when the quiet has gone, so it follows a line from call to call and within a call.
 */
export interface NoiseFloor {
  /** Takes a frame's power, and tells whether somebody may be heard in it. */
  isActive(powerDb: number): boolean;
  db(): number;
}

export function createNoiseFloor(): NoiseFloor {
  const least = new Float64Array(PARTS).fill(CEILING_DB);
  let part = 0;
  let frames = 0;
  let active = false;

  const db = () => {
    let floor = CEILING_DB;
    for (let i = 0; i < PARTS; i++) floor = Math.min(floor, least[i] as number);
    return floor;
  };

  return {
    isActive(powerDb) {
      if (frames === PART_FRAMES) {
        part = (part + 1) % PARTS;
        least[part] = CEILING_DB;
        frames = 0;
      }
      frames++;
      least[part] = Math.min(least[part] as number, powerDb);
      active = powerDb > Math.max(AUDIBLE_DB, db() + (active ? GO_ON_DB : BEGIN_DB));
      return active;
    },
    db,
  };
}
