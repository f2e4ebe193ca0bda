import { planFaults } from './schedule';

test('the same seed gives the same schedule, another seed another', () => {
  expect(planFaults(7, 600_000)).toEqual(planFaults(7, 600_000));
  expect(planFaults(7, 600_000)).not.toEqual(planFaults(8, 600_000));
  const kinds = new Set(planFaults(7, 600_000).map(({ kind, target }) => `${kind} ${target}`));
  expect([...kinds].sort()).toEqual([
    'cut carrier',
    'cut database',
    'cut service',
    'cut temporal',
    'kill orchestrator',
    'kill postgres',
    'kill sender-1',
    'kill sender-2',
    'kill serve',
    'kill temporal',
    'pause campaigns',
    'stall orchestrator',
    'stall sender-1',
    'stall sender-2',
    'stall serve',
  ]);
  const onUp = new Set(planFaults(7, 600_000, { installation: 'up' }).map(({ target }) => target));
  expect([...onUp].sort()).toEqual(['campaigns', 'carrier', 'everything', 'postgres', 'temporal', 'up']);
});
