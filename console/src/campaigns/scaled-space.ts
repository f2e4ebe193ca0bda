/** Browsers end an element at 33,554,428 pixels; what lay below could not be reached. */
const SPACE_MAX_PX = 30_000_000;

interface Scaled {
  /** Pixels of rows that one pixel of the scroll bar stands for. */
  scale: number;
  spacePx: number;
}

/** As many rows as there are fit into the space that a browser has, because the scroll position is scaled. */
export function scaledSpace(rowsPx: number, viewPx: number): Scaled {
  if (rowsPx <= SPACE_MAX_PX) return { scale: 1, spacePx: rowsPx };
  return { scale: (rowsPx - viewPx) / (SPACE_MAX_PX - viewPx), spacePx: SPACE_MAX_PX };
}
