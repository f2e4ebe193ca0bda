import { setTimeout as delay } from 'node:timers/promises';
import { inParallel } from '../../src/domain/in-parallel';
import {
  ApiClient,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { addWorkspace } from '../support/as-user';
import { until } from '../support/until';
import {
  type CampaignBench,
  createEmailCampaign,
  createEmailTemplate,
  importContacts,
  sizeOf,
  withCampaigns,
} from './campaign-rig';
import { idleCost, note, numberOption, percentile } from './rig';

/** Figures about what is large or many beside others; what they measure is told in neighbours.ts. */

const LIMIT_MS = 60 * 60_000;
const CONTACTS_DEFAULT = 150_000;
/** When the owner acts, after the campaign was created: freezing goes on at each of these. */
const MOMENTS_MS = [50, 200, 500, 1_000, 1_500];
const AT_ONCE = 14;

export async function controlFigure(): Promise<unknown> {
  const contacts = numberOption('--contacts') ?? CONTACTS_DEFAULT;
  return withCampaigns(async (bench) => {
    const { api } = bench;
    const other = await anotherWorkspace(bench, 'other');
    note(`importing ${contacts} contacts`);
    const { listId } = await importContacts(bench, contacts);
    const templateId = await createEmailTemplate(api);
    const results = [];
    const reads: number[] = [];
    let isOver = false;
    const reading = (async () => {
      while (!isOver) {
        reads.push(await timed(() => other.expect('GET', '/api/campaign?page=1&limit=20&channel=sms')));
        await delay(20);
      }
    })();
    for (const afterMs of MOMENTS_MS) {
      const id = await createEmailCampaign(api, listId, templateId);
      await delay(afterMs);
      const pauseMs = await act(api, id, 'pause');
      const phase = (await api.expect<{ data: { phase: string } }>('GET', `/api/campaign/${id}`)).data.phase;
      const resumeMs = await act(api, id, 'resume');
      const cancelMs = await act(api, id, 'cancel');
      const canceledMs = await timed(() => untilPhase(api, id, ['canceled'], LIMIT_MS));
      results.push({ afterMs, pauseMs, phase, resumeMs, cancelMs, canceledMs });
    }
    note(`${AT_ONCE} at once`);
    // One connection each: behind fewer, the last would wait for the benchmark.
    const clients = new ApiClient(bench.baseUrl, bench.credentials, AT_ONCE);
    // It has its token before, as callers have who use one for an hour.
    await clients.expect('GET', '/api/campaign?page=1&limit=1&channel=sms');
    const ids = [];
    for (let i = 0; i < AT_ONCE; i++) ids.push(await createEmailCampaign(api, listId, templateId));
    const atOnce = await Promise.all(ids.map((id) => act(clients, id, 'cancel')));
    for (const id of ids) await untilPhase(api, id, ['canceled'], LIMIT_MS);
    isOver = true;
    await reading;
    await clients.close();
    await other.close();
    return {
      contacts,
      moments: results,
      atOnce: { longestMs: Math.max(...atOnce) },
      otherWorkspace: { reads: reads.length, p95Ms: percentile(reads, 0.95), longestMs: Math.max(...reads) },
    };
  });
}

/** How long the answer takes; a refusal is an error, also one that says that a dependency is down. */
const act = (api: ApiClient, id: string, action: string) =>
  timed(() => api.expect('POST', `/api/campaign/${id}/${action}`));

export async function idleFigure(): Promise<unknown> {
  const workspaces = numberOption('--workspaces') ?? 500;
  return withCampaigns(async (bench) => {
    const idleAlone = await idleCost(bench);
    note(`${workspaces} workspaces, each with a campaign that has ended`);
    await inParallel([...new Array(workspaces).keys()], 4, async (i) => {
      const api = await anotherWorkspace(bench, String(i));
      const listId = await createList(api, 1);
      await createSmsCampaign(api, listId, await createSmsTemplate(api));
      await api.close();
    });
    // Feeds are followed closely for a minute after what they told last.
    await delay(10 * 60_000);
    return { workspaces, idleAlone, idle: await idleCost(bench) };
  });
}

export async function firstFigure(): Promise<unknown> {
  const contacts = numberOption('--contacts') ?? CONTACTS_DEFAULT;
  return withCampaigns(async (bench) => {
    const { api, place } = bench;
    note(`importing ${contacts} contacts`);
    const { listId } = await importContacts(bench, contacts);
    const templateId = await createEmailTemplate(api);
    const size = sizeOf(place, 'email');
    let id = '';
    const firstHandOverMs = await timed(async () => {
      id = await createEmailCampaign(api, listId, templateId);
      await until('the first hand-over', () => sizeOf(place, 'email') > size, LIMIT_MS, 5);
    });
    await act(api, id, 'cancel');
    return { contacts, firstHandOverMs };
  });
}

async function anotherWorkspace({ baseUrl, credentials }: CampaignBench, name: string): Promise<ApiClient> {
  const made = await addWorkspace(baseUrl, credentials.user, `workspace-${name}`);
  return new ApiClient(baseUrl, made, 2);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begunAt = performance.now();
  await work();
  return Math.round(performance.now() - begunAt);
}
