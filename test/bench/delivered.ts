import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { MessageEvent } from '../../src/domain/message';
import { recordFile } from '../../src/providers/simulator/simulator-record';
import type { ApiClient } from '../support/api-client';
import type { Place } from '../support/fanfare-process';

const QUIET_MS = 1_500;

/** Waits until the simulator's record stands still: all handed over, all receipts told. Answers when that was. */
export async function untilQuiet(place: Place): Promise<number> {
  const file = recordFile(join(place.dataDir, 'simulator'), 'sms');
  for (;;) {
    const { mtimeMs } = statSync(file);
    if (Date.now() - mtimeMs > QUIET_MS) return mtimeMs;
    await new Promise((done) => setTimeout(done, 100));
  }
}

interface Page {
  data: MessageEvent[];
  next: string;
}

export async function feedEnd(api: ApiClient): Promise<string> {
  let after = '';
  for await (const page of pages(api, after)) after = page.next;
  return after;
}

/** From the moment a message was accepted to the moment the provider answered, by the times of the event feed. */
export async function toProviderMs(api: ApiClient, after: string): Promise<Record<string, number>> {
  const acceptedAt = new Map<string, number>();
  const waits: number[] = [];
  for await (const { data } of pages(api, after)) {
    for (const { uid, type, at } of data) {
      if (type === 'accepted') acceptedAt.set(uid, Date.parse(at));
      if (type === 'sent') waits.push(Date.parse(at) - (acceptedAt.get(uid) ?? Number.NaN));
    }
  }
  waits.sort((a, b) => a - b);
  const at = (share: number) => waits[Math.floor((waits.length - 1) * share)] ?? Number.NaN;
  return { messages: waits.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

async function* pages(api: ApiClient, from: string): AsyncGenerator<Page> {
  for (let after = from; ; ) {
    const page = await api.expect<Page>('GET', `/events?limit=1000&after=${after}`);
    if (page.data.length === 0) return;
    yield page;
    after = page.next;
  }
}
