/** Six parts of 0.25 s, because people rarely speak for 1.5 s without closing their lips once. */
const PARTS = 6;
const PART_FRAMES = 13;
/** A caller in a street. A sound that is louder from the first moment is a voice, not the line. */
const CEILING_DB = -30;
/** Comfort noise and echoes lie below, the faintest speakers above; Asterisk's threshold of 256 is -42 dB. */
const AUDIBLE_DB = -45;
/**
 * Level above the floor at which a voice begins, and at which it continues. A single frame of white noise
 * varies by 2 dB.
 */
const BEGIN_DB = 9;
const GO_ON_DB = 6;

/**
 * The line's sound while no person speaks: the least power of the last second and a half. It falls at once and
 * rises when the quiet is over, so that it follows the line within a call.
 */
export interface NoiseFloor {
  /** Takes a frame's power, and returns whether a voice may be in it. */
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
