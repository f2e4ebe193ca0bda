import { parseOptedOutCodes } from '../../../src/domain/opted-out-codes';
import { newPdu, type Pdu } from '../../../src/providers/smpp/library';
import { isReceipt, readReceipt } from '../../../src/providers/smpp/receipt-text';

const receipt = (text: string, fields: Partial<Pdu> = {}): Pdu =>
  ({ esm_class: 0x04, short_message: Buffer.from(text, 'latin1'), ...fields }) as Pdu;

describe('a receipt', () => {
  const FULL =
    'id:4a1B sub:001 dlvrd:001 submit date:2611212327 done date:261121232815 stat:DELIVRD err:000 text:Hello';

  const ID = 0x1e;
  const STATE = 0x427;
  const REFERENCE = 0x204;
  const CALLBACK = 0x381;
  test.each<[string, [tag: number, octets: string][], object]>([
    [
      'as SMPP has them',
      [
        [ID, 'a1\0'],
        [STATE, '\x02'],
        [REFERENCE, '\x01\x02'],
      ],
      { reference: 258 },
    ],
    [
      'without a zero behind the id',
      [
        [ID, 'a1'],
        [STATE, '\x02'],
        [REFERENCE, '\x01\x02'],
      ],
      { reference: 258 },
    ],
    [
      'with a number that is too short',
      [
        [ID, 'a1\0'],
        [STATE, '\x02'],
        [REFERENCE, '\x07'],
      ],
      { reference: 7 },
    ],
    [
      'with one that is too long',
      [
        [REFERENCE, '\x01\x02'],
        [STATE, '\0\0\0\x02'],
        [ID, 'a1'],
      ],
      { reference: 258 },
    ],
    [
      'with an empty callback_num',
      [
        [CALLBACK, ''],
        [ID, 'a1'],
        [STATE, '\x02'],
      ],
      { to: '+12125550190' },
    ],
    [
      'with one that is empty',
      [
        [ID, 'a1\0'],
        [STATE, '\x02'],
        [REFERENCE, ''],
      ],
      { reference: undefined },
    ],
  ])('is read from its TLVs %s', (_how, tlvs, about) => {
    const addresses = { source_addr: '12125550190', source_addr_ton: 1, destination_addr: '12345' };
    const head = newPdu('deliver_sm', { ...addresses, esm_class: 0x04 }) as Pdu & { toBuffer(): Buffer };
    const written = tlvs.map(([tag, octets]) => {
      const length = Buffer.from([tag >> 8, tag & 0xff, 0, octets.length]);
      return Buffer.concat([length, Buffer.from(octets, 'latin1')]);
    });
    const octets = Buffer.concat([head.toBuffer(), ...written]);
    octets.writeUInt32BE(octets.length);
    const { PDU } = require('smpp') as { PDU: new (octets: Buffer) => Pdu };
    expect(readReceipt(new PDU(octets))).toMatchObject({ partId: 'a1', type: 'delivered', about });
  });

  test('is read from its text', () => {
    expect(readReceipt(receipt(FULL))).toEqual({
      partId: '4a1B',
      type: 'delivered',
      code: undefined,
      carrierCode: undefined,
      doneDate: '261121232815',
    });
  });

  test.each([
    ['DELIVRD', 'delivered', undefined],
    ['EXPIRED', 'expired', 'smpp_expired_034'],
    ['UNDELIV', 'undelivered', 'smpp_undeliv_034'],
    ['UNDELIVERABLE', 'undelivered', 'smpp_undeliv_034'],
    ['DELETED', 'failed', 'smpp_deleted_034'],
    ['REJECTD', 'rejected', 'smpp_rejectd_034'],
    ['ACCEPTD', undefined, undefined],
    ['ENROUTE', undefined, undefined],
    ['UNKNOWN', undefined, undefined],
    ['', undefined, undefined],
  ])('whose state is %j ends its message as %s', (state, type, code) => {
    expect(readReceipt(receipt(`id:1 stat:${state} err:034`))).toMatchObject({ partId: '1', type, code });
  });

  test.each([
    'id:17 stat:DELIVRD',
    'ID:17 STAT:delivrd ERR:000',
    'stat:DELIVRD id:17',
    'id: 17 sub: 001 dlvrd: 001 stat: DELIVRD err: 000',
    'id=17,stat=DELIVRD,err=0',
    'id:17 submit_date:1 done_date:2 stat:DELIVRD text:',
    'id:17 sub:001 stat:DELIVRD err:000 Text:id:99 stat:UNDELIV',
  ])('may be written %j', (text) => {
    expect(readReceipt(receipt(text))).toMatchObject({ partId: '17', type: 'delivered' });
  });

  test('prefers its TLVs to its text', () => {
    const tlvs = {
      receipted_message_id: '1b',
      message_state: 5,
      network_error_code: Buffer.from([3, 0, 27]),
    };
    const read = readReceipt(receipt(FULL, tlvs));
    expect(read).toMatchObject({ partId: '1b', type: 'undelivered', code: 'smpp_undeliv_27' });
  });

  test('without a text has its TLVs alone', () => {
    const pdu = { esm_class: 0x04, receipted_message_id: '9', message_state: 2 } as Pdu;
    expect([isReceipt(pdu), readReceipt(pdu)]).toMatchObject([true, { partId: '9', type: 'delivered' }]);
  });

  test('on the way, by esm_class or by its TLV, ends nothing', () => {
    expect(readReceipt(receipt(FULL, { esm_class: 0x20 }))?.type).toBeUndefined();
    expect(readReceipt(receipt(FULL, { message_state: 1 }))?.type).toBeUndefined();
  });

  test('that names nothing is none', () => {
    expect(readReceipt(receipt('stat:DELIVRD'))).toBeUndefined();
    expect(readReceipt(receipt(''))).toBeUndefined();
  });

  test('whose error is one of the codes that are set says that the subscriber has opted out', () => {
    const optedOut = parseOptedOutCodes('0x455, 451,27');
    if (typeof optedOut === 'string') throw new Error(optedOut);
    const told = (text: string, fields?: Partial<Pdu>) => readReceipt(receipt(text, fields), optedOut);
    expect(told('id:1 stat:REJECTD err:0451')).toMatchObject({
      type: 'rejected',
      code: 'opted_out',
      carrierCode: 'smpp_rejectd_0451',
    });
    const network_error_code = Buffer.from([3, 0, 27]);
    expect(told('id:1 stat:UNDELIV err:000', { network_error_code })).toMatchObject({ code: 'opted_out' });
    expect(told('id:1 stat:UNDELIV err:455')).toMatchObject({ code: 'smpp_undeliv_455' });
    expect(told('id:1 stat:DELIVRD err:451')).toMatchObject({ type: 'delivered', code: undefined });
  });
});
