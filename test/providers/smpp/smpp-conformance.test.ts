import type { HandOver } from '../../../src/providers/provider';
import { openSmppProvider } from '../../../src/providers/smpp/smpp-provider';
import { startSmsc } from '../../support/smsc';
import { providerConformance, type Rig } from '../conformance';
import { noInboundParts, noParts } from './no-parts';

/** A centre does not know our ids, so that each message has its own as its text. */
async function createRig(): Promise<Rig> {
  const smsc = await startSmsc();
  return {
    async open() {
      const provider = openSmppProvider({
        url: smsc.url,
        binds: 2,
        window: 50,
        messageId: 'auto',
        tlvs: {},
        parts: noParts,
        inboundParts: noInboundParts,
        times: { answerMs: 500, enquireMs: 30_000 },
      });
      const named = (messages: readonly HandOver[]) => messages.map((one) => ({ ...one, text: one.id }));
      return { ...provider, handOver: (messages, mayLeave) => provider.handOver(named(messages), mayLeave) };
    },
    delivered: () => smsc.taken.map(({ octets }) => octets.toString('latin1').replaceAll('\x11', '_')),
    close: () => smsc.close(),
  };
}

providerConformance('SMPP', createRig, {
  channel: 'sms',
  addresses: {
    accepted: '+12125550190',
    rejected: '+12125550101',
    transient: '+12125550102',
    throttled: '+12125550103',
    account: '+12125550105',
    lost: '+12125550111',
  },
});
