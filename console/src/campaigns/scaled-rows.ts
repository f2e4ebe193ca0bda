import { observeElementOffset, useVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import { scaledSpace } from './scaled-space';

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
