import { freePort } from '../../support/free-port';
import { providerConformance, type Rig } from '../conformance';
import { startSmtpCarrier } from './smtp-carrier';
import { openSmtp } from './smtp-rig';

async function createRig(): Promise<Rig> {
  const port = await freePort();
  const carrier = await startSmtpCarrier({ reportTo: port });
  return {
    open: async () =>
      openSmtp(`smtp://127.0.0.1:${carrier.port}?tls=none`, {
        returnPath: { domain: 'bounces.example.org', secret: 'secret' },
        listen: { host: '127.0.0.1', port },
      }),
    delivered: () => carrier.delivered,
    close: () => carrier.close(),
  };
}

providerConformance('the SMTP provider', createRig, {
  channel: 'email',
  addresses: {
    accepted: 'ann@example.com',
    rejected: 'reject@example.net',
    transient: 'down@example.net',
    throttled: 'throttle@example.net',
    account: 'account@example.net',
    lost: 'lost@example.net',
  },
});
