import { durableSendBody } from '../../src/contracts/durable-sends';

test('options for calls with another channel are one finding', () => {
  const checked = durableSendBody.safeParse({
    channel: 'sms',
    uid: 'u1',
    to: '+12025550100',
    from: '12345',
    'template-id': 't',
    voice: { machine: 'hangup' },
  });
  expect(checked.error?.issues.map((issue) => issue.path.join('.'))).toEqual(['voice']);
});
