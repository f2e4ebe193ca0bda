import { planFaults } from './schedule';

test('the same seed gives the same schedule, another seed another', () => {
  expect(planFaults(7, 600_000)).toEqual(planFaults(7, 600_000));
  expect(planFaults(7, 600_000)).not.toEqual(planFaults(8, 600_000));
  const kinds = new Set(planFaults(7, 600_000).map(({ kind, target }) => `${kind} ${target}`));
  expect([...kinds].sort()).toEqual([
    'cancel campaign',
    'cut carrier',
    'cut database',
    'cut service',
    'cut temporal',
    'kill orchestrator',
    'kill postgres',
    'kill sender-1',
    'kill sender-2',
    'kill serve',
    'kill serve-2',
    'kill temporal',
    'kill voice',
    'pause campaigns',
    'refuse account',
    'stall orchestrator',
    'stall sender-1',
    'stall sender-2',
    'stall serve',
    'stall serve-2',
    'stall voice',
    'stop workspace',
  ]);
  const onUp = new Set(planFaults(7, 600_000, { installation: 'up' }).map(({ target }) => target));
  expect([...onUp].sort()).toEqual([
    'account',
    'campaign',
    'campaigns',
    'carrier',
    'everything',
    'postgres',
    'temporal',
    'up',
    'workspace',
  ]);
});
