import type { Provider } from '../../../src/providers/provider';
import { type SmtpSink, startSmtpSink } from '../../support/smtp-sink';
import { REFUSALS } from './refusals';
import { mail, openSmtp } from './smtp-rig';

/** What smtp-refusals.test.ts tries on a host of its own, against a server that other people wrote. */
describe('a mail to smtp-sink', () => {
  let sink: SmtpSink;
  let provider: Provider;
  afterEach(async () => {
    await provider.close();
    await sink.stop();
  });

  test.each(REFUSALS)('$title', async ({ switches, expected }) => {
    sink = await startSmtpSink(switches);
    provider = openSmtp(sink.url);
    expect(await provider.handOver([mail()])).toEqual([expected]);
  });
});
