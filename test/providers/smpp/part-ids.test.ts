import { PartIds } from '../../../src/providers/smpp/part-ids';

const sent = (ids: PartIds, partId: string) =>
  ids.add({ partId, messageId: `msg ${partId}`, parts: 1, to: '+12125550190' });
const found = (ids: PartIds, told: string) => ids.find(told)?.messageId;

describe('whose a receipt is', () => {
  test('is told by the id as it was answered', () => {
    const ids = new PartIds('auto');
    sent(ids, '6f1c-17');
    expect([found(ids, '6f1c-17'), found(ids, '6f1c-18')]).toEqual(['msg 6f1c-17', undefined]);
  });

  test('is found out when answers are hexadecimal and receipts decimal', () => {
    const ids = new PartIds('auto');
    for (let n = 0x100; n < 0x200; n++) sent(ids, n.toString(16).toUpperCase().padStart(8, '0'));
    expect(found(ids, '427')).toBe('msg 000001AB');
    expect(found(ids, '0000000427')).toBe('msg 000001AB');
  });

  test('is found out when answers are decimal and receipts hexadecimal', () => {
    const ids = new PartIds('auto');
    for (let n = 400; n < 500; n++) sent(ids, String(n));
    expect(found(ids, '1ab')).toBe('msg 427');
    // 0x190, and not the 190th: the receipt before has told how they are written.
    expect(found(ids, '190')).toBe('msg 400');
  });

  test('is not guessed from ids that are decimal on both sides', () => {
    const ids = new PartIds('auto');
    sent(ids, '20');
    expect([found(ids, '32'), found(ids, '14')]).toEqual([undefined, undefined]);
  });

  test('is told by the setting where digits alone say nothing', () => {
    const hexadecimal = new PartIds('decimal');
    sent(hexadecimal, '20');
    expect(found(hexadecimal, '32')).toBe('msg 20');
    const decimal = new PartIds('hex');
    sent(decimal, '32');
    expect(found(decimal, '20')).toBe('msg 32');
  });

  test('may be any writing of the number for a process that has seen no answer', () => {
    expect(new PartIds('auto').candidates('427')).toEqual(
      expect.arrayContaining(['427', '1ab', '1AB', '000001ab', '000001AB']),
    );
    expect(new PartIds('hex').candidates('1ab')).toEqual(['427', '0000000427', '1ab']);
  });
});
