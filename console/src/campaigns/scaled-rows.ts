import { observeElementOffset, useVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react';

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

/** The rows to draw, and where. */
export function useScaledRows({
  count,
  height,
  scroll,
}: {
  count: number;
  height: number;
  scroll: RefObject<HTMLDivElement | null>;
}) {
  const { scale, spacePx } = scaledSpace(count * height, scroll.current?.clientHeight ?? 0);
  const scaleNow = useRef(scale);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => height,
    observeElementOffset: (instance, tell) =>
      observeElementOffset(instance, (offset, isScrolling) => tell(offset * scaleNow.current, isScrolling)),
    overscan: 10,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights are measured anew when they change
  useEffect(() => virtual.measure(), [height]);
  const rowsOffset = virtual.scrollOffset ?? 0;
  useLayoutEffect(() => {
    const element = scroll.current;
    if (!element || scaleNow.current === scale) return;
    scaleNow.current = scale;
    // More rows have come: the same row stays where it is.
    element.scrollTop = rowsOffset / scale;
  }, [scale, rowsOffset, scroll]);
  return {
    items: virtual.getVirtualItems(),
    spacePx,
    /** Added to where a row would stand if nothing were scaled. */
    shiftPx: rowsOffset / scale - rowsOffset,
  };
}
