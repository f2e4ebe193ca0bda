import type { JoinedPart } from '../../../src/providers/smpp/parts';
import { createReassembly, type WholeSms } from '../../../src/providers/smpp/reassembly';
import { until } from '../../support/until';

const FROM_TO = { from: '+12125550190', to: '12345' };
const partOf = (text: string, number: number, reference = 9) => ({
  text,
  joined: { reference, total: 3, number },
});

describe('a long message', () => {
  const gather = (holdMs: number) => {
    const wholes: WholeSms[] = [];
    const stored: { what: JoinedPart; acknowledge(): void }[] = [];
    const acknowledged: number[] = [];
    const reassembly = createReassembly(
      (whole) => void wholes.push(whole),
      (part) => void stored.push(part),
      holdMs,
    );
    const add = (text: string, number: number, reference?: number) =>
      reassembly.add({
        ...FROM_TO,
        part: partOf(text, number, reference),
        acknowledge: () => void acknowledged.push(number),
      });
    return { wholes, stored, acknowledged, reassembly, add };
  };

  test('is whole with its last part, and acknowledged when it is taken, a repeated part twice', () => {
    const { wholes, stored, acknowledged, reassembly, add } = gather(60_000);
    add('more', 3);
    add('STOP ', 1);
    add('STOP ', 1);
    add('old', 1, 10);
    add('and ', 2);
    expect(wholes).toMatchObject([{ ...FROM_TO, text: 'STOP and more' }]);
    expect(acknowledged).toEqual([]);
    wholes[0]?.taken();
    expect(acknowledged).toEqual([3, 1, 1, 2]);
    expect(stored).toEqual([]);
    reassembly.close();
  });

  test('of which parts are missing has the others stored after a while, and further ones at once', async () => {
    const { wholes, stored, acknowledged, reassembly, add } = gather(20);
    add('STOP ', 1);
    add('more', 3);
    await until('both to be stored', () => stored.length === 2);
    add('and ', 2);
    expect(stored.map(({ what }) => what)).toEqual([
      { ...FROM_TO, ...partOf('STOP ', 1) },
      { ...FROM_TO, ...partOf('more', 3) },
      { ...FROM_TO, ...partOf('and ', 2) },
    ]);
    expect(acknowledged).toEqual([]);
    expect(wholes).toEqual([]);
    reassembly.close();
  });
});
