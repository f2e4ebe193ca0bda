import { sql } from 'kysely';
import type { NewEvent } from '../../../src/messaging/events/event-rows';
import { eventsOf, historyEntry, historyText, seqOf, withData } from '../../../src/messaging/events/history';
import type { StoredEvent } from '../../../src/messaging/model/stored-event';
import { describeWithDatabase } from '../../support/storage';

const MESSAGE = { uid: 'u', id: 'msg_1', channel: 'sms' as const };
const HAND_OVER = { provider: 'carrier', attempt: 2 };
const AT = '2026-11-25T06:12:00.123Z';
const LATER = '2026-11-25T06:13:00.000Z';
/** Events written before there were arrays. */
const OLD: StoredEvent[] = [
  { seq: 7, at: AT, type: 'sent', state: 'sent', ...HAND_OVER },
  { seq: 9, at: AT, type: 'digits', state: 'sent', ...HAND_OVER, data: { digits: '1' } },
];

describeWithDatabase('history', (database) => {
  /** As a statement stores it after what is there. */
  async function stored(event: NewEvent, before: StoredEvent[] = []): Promise<StoredEvent[]> {
    const { rows } = await sql<{ history: StoredEvent[] }>`
      select ${JSON.stringify(before)}::jsonb || ${historyEntry(sql`42::int8`, sql`${historyText(event, LATER)}::text`)}
        as history`.execute((await database.open()).tables());
    return rows[0]?.history ?? [];
  }

  test.each<[string, Omit<NewEvent, keyof typeof MESSAGE>]>([
    ['a hand-over', { type: 'sent', state: 'sent', at: AT, ...HAND_OVER }],
    ['a refusal', { type: 'rejected', state: 'rejected', at: AT, code: '550', ...HAND_OVER }],
    ['an empty code', { type: 'undelivered', state: 'undelivered', at: AT, code: '', ...HAND_OVER }],
    ['no hand-over', { type: 'canceled', state: 'canceled', at: AT }],
    ['a state that stays', { type: 'inbound', state: 'sent', at: AT, data: { text: 'Stop "now"\n\\' } }],
    [
      'all members',
      { type: 'digits', state: 'delivered', at: AT, code: 'x', ...HAND_OVER, data: { a: [1, null] } },
    ],
  ])('%s comes back as it was', async (_, event) => {
    const history = await stored({ ...MESSAGE, ...event });
    expect(eventsOf({ history, provider: 'carrier', attempt: 2 })).toEqual([{ seq: 42, ...event }]);
  });

  test('an event without a time of its own has that of its row', async () => {
    const history = await stored({ ...MESSAGE, type: 'canceled', state: 'canceled' });
    expect(eventsOf({ history, provider: null, attempt: 0 })).toEqual([
      { seq: 42, at: LATER, type: 'canceled', state: 'canceled' },
    ]);
  });

  test('events of the old form are read, and followed by new ones', async () => {
    const history = await stored(
      { ...MESSAGE, type: 'delivered', state: 'delivered', at: AT, ...HAND_OVER },
      OLD,
    );
    expect(eventsOf({ history, ...HAND_OVER })).toEqual([
      ...OLD,
      { seq: 42, at: AT, type: 'delivered', state: 'delivered', ...HAND_OVER },
    ]);
    expect(history.map(seqOf)).toEqual([7, 9, 42]);
  });

  test('an event with nothing of its own is a text, and was an array before', async () => {
    const event = { ...MESSAGE, type: 'delivered', state: 'delivered', at: AT, ...HAND_OVER } as const;
    const history = await stored(event, [[41, Date.parse(AT), 'sent', true]]);
    expect(history).toEqual([[41, Date.parse(AT), 'sent', true], `42 ${Date.parse(AT)} delivered +`]);
    expect(eventsOf({ history, ...HAND_OVER }).map(({ seq, type, at }) => [seq, type, at])).toEqual([
      [41, 'sent', AT],
      [42, 'delivered', AT],
    ]);
    expect(history.map(seqOf)).toEqual([41, 42]);
    expect(history.map((one) => withData(one, () => ({ gone: true })))).toEqual(history);
  });

  test('data is changed in both forms, and in no event without any', async () => {
    const data = { digits: '2', said: 'name' };
    const history = await stored(
      { ...MESSAGE, type: 'digits', state: 'sent', at: AT, ...HAND_OVER, data },
      OLD,
    );
    const changed = history.map((event) => withData(event, () => ({ gone: true })));
    expect(eventsOf({ history: changed, ...HAND_OVER }).map((event) => event.data)).toEqual([
      undefined,
      { gone: true },
      { gone: true },
    ]);
    expect(eventsOf({ history: changed, ...HAND_OVER }).map(({ type }) => type)).toEqual([
      'sent',
      'digits',
      'digits',
    ]);
  });
});
