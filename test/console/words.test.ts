import { addressOf } from '../../console/src/api/client';
import { eventOf } from '../../console/src/api/live';
import { meaningOf } from '../../console/src/campaigns/outcome-words';
import { fill, formatDuration, formatUtc, plural } from '../../console/src/format';
import { TEXTS } from '../../console/src/texts';

describe('words of the console', () => {
  test('a text takes its values, and one without a value keeps its place', () => {
    expect(fill('{name} has {n}', { name: '<b>', n: 3 })).toBe('<b> has 3');
    expect(fill('{missing}', {})).toBe('{missing}');
    expect(plural(1, { one: '{n} row', other: '{n} rows' })).toBe('1 row');
    expect(plural(0, { one: '{n} row', other: '{n} rows' })).toBe('0 rows');
  });

  test('a duration has its two largest units', () => {
    expect(formatDuration(0)).toBe('0 seconds');
    expect(formatDuration(7_384)).toBe('2 hours 3 minutes');
    expect(formatUtc('2026-11-24T10:15:30.123Z')).toBe('2026-11-24 10:15:30 UTC');
  });

  test.each([
    ['rejected', '550 5.1.1', 'There is no such mailbox.'],
    ['failed', '451 4.7.1', 'The receiving server refused it for the moment.'],
    ['unknown', 'answer_lost', 'It was handed over and the answer was lost.'],
    ['delivered', null, 'It arrived.'],
    ['rejected', 'constructor', 'It was refused for good.'],
  ] as const)('%s with %s means: %s', (state, code, means) => {
    expect(meaningOf(state, code).means).toBe(means);
  });
});

test('a canceled recipient may be one whom an earlier channel has reached', () => {
  expect(TEXTS.campaign.states.canceled.means).toContain('an earlier channel');
});

describe('addresses and events', () => {
  test('ids are escaped in paths, and what is empty is left out of the query', () => {
    expect(
      addressOf('/api/x/{id}', { id: 'a/b' }, { search: 'p+1', state: undefined, page: 2, code: '' }),
    ).toBe('/api/x/a%2Fb?search=p%2B1&page=2');
  });

  test('an event has its id and its lines of data; comments are nothing', () => {
    expect(eventOf('id: 7\nevent: progress\ndata: {"a":\ndata: 1}')).toEqual({ id: '7', data: '{"a":\n1}' });
    expect(eventOf(': still here')).toEqual({ id: undefined, data: '' });
  });
});
