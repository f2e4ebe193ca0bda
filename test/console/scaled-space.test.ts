import { scaledSpace } from '../../console/src/campaigns/scaled-space';

/** As tall as Chromium draws an element. */
const CHROMIUM_PX = 33_554_428;
const ROW = 44;
const VIEW = 600;

describe('the space of a long table', () => {
  test('is what its rows take while a browser can draw that', () => {
    expect(scaledSpace(20 * ROW, VIEW)).toEqual({ scale: 1, spacePx: 880 });
  });

  test.each([762_602, 1_000_000, 50_000_000])('ends with the last of %i rows', (count) => {
    const { scale, spacePx } = scaledSpace(count * ROW, VIEW);
    expect(spacePx).toBeLessThan(CHROMIUM_PX);
    // At the end of the scroll bar the last row stands at the lower edge.
    expect((spacePx - VIEW) * scale + VIEW).toBeCloseTo(count * ROW, 0);
  });
});
