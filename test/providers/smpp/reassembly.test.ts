import { createReassembly, type WholeSms } from '../../../src/providers/smpp/reassembly';
import { until } from '../../support/until';

const FROM_TO = { from: '+12125550190', to: '12345' };
const partOf = (text: string, number: number, reference = 9) => ({
  text,
  joined: { reference, total: 3, number },
});

describe('a long message of which parts never come', () => {
  const gather = (times: { holdMs: number; patienceMs: number }) => {
    const wholes: WholeSms[] = [];
    const acknowledged: number[] = [];
    const reassembly = createReassembly((whole) => void wholes.push(whole), times);
    const add = (text: string, number: number, reference?: number) =>
      reassembly.add({
        ...FROM_TO,
        part: partOf(text, number, reference),
        acknowledge: () => void acknowledged.push(number),
      });
    return { wholes, acknowledged, reassembly, add };
  };

  test('is given as far as it came when its time is up, and acknowledged when that is taken', async () => {
    const { wholes, acknowledged, reassembly, add } = gather({ holdMs: 60_000, patienceMs: 30 });
    add('more ', 3);
    add('STOP ', 1);
    await until('what there is', () => wholes.length > 0);
    expect(wholes).toMatchObject([{ ...FROM_TO, text: 'STOP more ' }]);
    expect(acknowledged).toEqual([]);
    wholes[0]?.taken();
    expect(acknowledged).toEqual([3, 1]);
    reassembly.close();
  });

  test('has its parts acknowledged meanwhile, each once, for centres that send one at a time', async () => {
    const { wholes, acknowledged, reassembly, add } = gather({ holdMs: 20, patienceMs: 60_000 });
    add('STOP ', 1);
    await until('the first to be acknowledged', () => acknowledged.length > 0);
    add('and ', 2);
    add('more', 3);
    expect(wholes).toMatchObject([{ text: 'STOP and more' }]);
    wholes[0]?.taken();
    expect(acknowledged).toEqual([1, 2, 3]);
    reassembly.close();
  });

  test('makes no whole with the parts of a later one', async () => {
    const { wholes, reassembly, add } = gather({ holdMs: 60_000, patienceMs: 30 });
    add('old', 1);
    add('new', 1, 10);
    await until('both', () => wholes.length === 2);
    expect(wholes.map(({ text }) => text)).toEqual(['old', 'new']);
    reassembly.close();
  });
});
