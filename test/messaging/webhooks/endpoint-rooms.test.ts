/** Proves that slow endpoints take no room from prompt ones. */

import { LIMITS } from '../../../src/domain/limits';
import { EndpointRooms } from '../../../src/messaging/webhooks/endpoint-rooms';
import type { Endpoint } from '../../../src/messaging/webhooks/fan-out';

const endpoint = (id: string, workspaceId = 'ws_1', failingSince: Date | null = null): Endpoint => ({
  ...{ id, workspaceId, failingSince, events: ['*'], createdAt: new Date(0), keyId: 'k' },
  ...{ afterSeq: 0, lastSeq: 0, keptFrom: 0, isPaused: false },
});

describe('rooms of endpoints', () => {
  let rooms: EndpointRooms;
  beforeEach(() => {
    jest.useFakeTimers();
    rooms = new EndpointRooms();
  });
  afterEach(() => jest.useRealTimers());

  const roomOf = (one: Endpoint) => rooms.give([one])[0]?.room ?? 0;
  const enter = (one: Endpoint, count = 1) => Array.from({ length: count }, () => rooms.enter(one));

  test('an endpoint gets more once it has answered promptly, and little once it was late', () => {
    const one = endpoint('a');
    expect(roomOf(one)).toBe(LIMITS.webhookInFlightNew);
    for (const leave of enter(one)) leave();
    expect(roomOf(one)).toBe(LIMITS.webhookInFlight);
    const [leave] = enter(one);
    jest.advanceTimersByTime(LIMITS.webhookSlowMs + 1);
    expect(roomOf(one)).toBe(LIMITS.webhookInFlightSlow - 1);
    leave?.();
    expect(roomOf(one)).toBe(LIMITS.webhookInFlightSlow);
    expect(roomOf(endpoint('b', 'ws_1', new Date(Date.now() - 60_000)))).toBe(LIMITS.webhookInFlightFailing);
  });

  test('a workspace gets a part of the places, whatever the number of its endpoints', () => {
    const many = Array.from({ length: 100 }, (_, i) => endpoint(`a${i}`));
    const given = rooms.give([...many, endpoint('b', 'ws_2')]);
    const ofMany = given.filter(({ webhookId }) => webhookId.startsWith('a'));
    expect(ofMany.reduce((sum, { room }) => sum + room, 0)).toBe(LIMITS.webhookInFlightWorkspace);
    expect(given.find(({ webhookId }) => webhookId === 'b')?.room).toBe(LIMITS.webhookInFlightNew);
  });

  test('late ones make room for prompt ones of the same workspace, and all of them together are bounded', () => {
    const held = Array.from({ length: 25 }, (_, i) => endpoint(`a${i}`));
    for (const one of held) enter(one, 2);
    expect(roomOf(endpoint('b'))).toBe(0);
    jest.advanceTimersByTime(LIMITS.webhookSlowMs + 1);
    expect(roomOf(endpoint('b'))).toBe(LIMITS.webhookInFlightNew);
    for (let i = 0; i < LIMITS.webhookInFlightAll; i++) enter(endpoint(`c${i}`, `ws_c${i}`));
    expect(roomOf(endpoint('d', 'ws_d'))).toBe(0);
  });

  test('places are given in turn', () => {
    const [a, b] = [endpoint('a', 'ws_1'), endpoint('b', 'ws_2')];
    const others = Array.from({ length: 400 }, (_, i) => endpoint(`c${i}`, `ws_${i + 3}`));
    const given = rooms.give([...others, a, b]);
    expect(given).toHaveLength(LIMITS.webhookInFlightPool);
    expect(given.every(({ room }) => room === 1)).toBe(true);
  });
});
