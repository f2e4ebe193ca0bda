import { Runtime } from '@temporalio/worker';
import pino from 'pino';
import { installTemporalRuntime } from '../../src/temporal/runtime';

test('no signal stops the workers behind the back of the program', async () => {
  installTemporalRuntime(pino({ level: 'silent' }));
  const runtime = Runtime.instance();
  try {
    const listened = (['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGUSR2'] as const).filter(
      (signal) => process.listenerCount(signal) > 0,
    );
    expect(listened).toEqual([]);
  } finally {
    await runtime.shutdown();
  }
});
