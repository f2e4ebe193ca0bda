/** Proves the connection to Temporal, and errors that name the remedy. */

import { openTemporal } from '../../src/temporal/connection';
import { temporalAddress } from '../support/services';

test('it connects and sees the namespace', async () => {
  const temporal = await openTemporal({ address: await temporalAddress(), namespace: 'default' });
  expect(temporal.client.options.namespace).toBe('default');
  expect(temporal.client.connection).toBe(temporal.connection);
  await temporal.close();
}, 150_000);

test('a server that cannot be reached is one error with a way out', async () => {
  await expect(openTemporal({ address: '127.0.0.1:9', namespace: 'default' })).rejects.toMatchObject({
    name: 'StartupError',
    message: expect.stringMatching(/127\.0\.0\.1:9 cannot be reached: Connection refused$/),
    wayOut: expect.stringContaining('TEMPORAL_ADDRESS'),
  });
});

test('a namespace that is not there is named', async () => {
  const address = await temporalAddress();
  await expect(openTemporal({ address, namespace: 'missing' })).rejects.toMatchObject({
    name: 'StartupError',
    message: expect.stringContaining('no namespace missing'),
  });
});

test('the standard client variables apply to an address of the operator', async () => {
  const address = await temporalAddress();
  const env = { TEMPORAL_TLS: 'true', TEMPORAL_CONFIG_FILE: '/nowhere/temporal.toml' };
  await expect(openTemporal({ address, namespace: 'default', env })).rejects.toThrow('cannot be reached');
  const plain = await openTemporal({ address, namespace: 'default', env: { TEMPORAL_CONFIG_FILE: '' } });
  await plain.close();
});

test('client variables that cannot be read are an error that says so', async () => {
  const env = { TEMPORAL_CONFIG_FILE: __filename };
  await expect(openTemporal({ address: '127.0.0.1:9', namespace: 'default', env })).rejects.toMatchObject({
    name: 'StartupError',
    message: expect.stringContaining('configuration cannot be read'),
  });
});
