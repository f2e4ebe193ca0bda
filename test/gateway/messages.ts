import type { OutgoingMessage } from '../../src/gateway/gateway';

/** What tests of the gateway send. */
export function messages(count: number): OutgoingMessage[] {
  return Array.from({ length: count }, (_, i) => ({
    uid: `u${i}`,
    channel: 'sms',
    to: '+12025550100',
    from: '12345',
    templateId: 'tpl_1',
    version: 2,
    params: { NAME: 'A' },
    campaign: 'cmp_1',
  }));
}
