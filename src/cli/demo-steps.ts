import { z } from 'zod';
import { FanfareError } from '../client/fanfare-error';
import { CHANNELS, type Channel } from '../domain/channel';
import type { ApiClient } from './api-client';
import { DEMO_TEMPLATES, demoCampaign } from './demo-content';
import type { DemoState, DemoStateFile } from './demo-state';

const created = z.object({ data: z.object({ id: z.string() }) });
const named = z.object({ data: z.array(z.object({ id: z.string(), name: z.string() })) });
const template = z.object({ id: z.string(), templateName: z.string(), version: z.number() });
const templateCreated = z.object({ template });
const templates = z.object({ templates: z.array(template) });
const imported = z.object({
  data: z.object({
    received: z.number(),
    created: z.number(),
    updated: z.number(),
    unchanged: z.number(),
    rejected: z.number(),
  }),
});

/** Phone numbers in the sample without a country code are American. */
const COUNTRY = 'US';

export interface DemoSteps {
  api: ApiClient;
  csvPath: string;
  stateFile: DemoStateFile;
  /** Prints what is about to happen, or has happened. */
  say(text: string): void;
}

/**
 * Brings the demo to the point where its campaign exists, from wherever an earlier attempt was cut off. Each
 * step looks for its result before it creates it, and is recorded when done.
 */
export async function prepareDemo(state: DemoState, steps: DemoSteps): Promise<string> {
  const { api, stateFile, say } = steps;
  const listId = state.listId ?? (await ensureList(api, state.name));
  state.listId = listId;
  await stateFile.write(state);

  if (!state.imported) {
    // Importing the same contacts again changes nothing.
    const path = `/api/contact-list/${listId}/contacts?country=${COUNTRY}`;
    const { data } = await api.postFile(path, steps.csvPath, 'text/csv', imported);
    say(
      `Imported ${data.received} rows: ${data.created} new contacts, ` +
        `${data.updated + data.unchanged} known, ${data.rejected} rejected`,
    );
    state.imported = true;
    await stateFile.write(state);
  }
  for (const channel of CHANNELS) {
    state.templates[channel] ??= await ensureTemplate(api, channel, state.name);
    await stateFile.write(state);
  }
  const campaignId = state.campaignId ?? (await ensureCampaign(api, state, listId));
  Object.assign(state, { campaignId, stage: 'running' } satisfies Partial<DemoState>);
  await stateFile.write(state);
  return campaignId;
}

async function ensureList(api: ApiClient, name: string): Promise<string> {
  const { data } = await api.get(`/api/contact-list?search=${encodeURIComponent(name)}`, named);
  const found = data.find((list) => list.name === name);
  return found?.id ?? (await api.post('/api/contact-list', { name }, created)).data.id;
}

async function ensureTemplate(
  api: ApiClient,
  channel: Channel,
  templateName: string,
): Promise<{ id: string; version: number }> {
  const body = { templateName, channel, ...DEMO_TEMPLATES[channel] };
  try {
    const made = (await api.post('/api/template/', body, templateCreated)).template;
    return { id: made.id, version: made.version };
  } catch (error) {
    if (!(error instanceof FanfareError && error.code === 'name_taken')) throw error;
    const path = `/api/template/?channel=${channel}&search=${encodeURIComponent(templateName)}`;
    const found = (await api.get(path, templates)).templates.find((one) => one.templateName === templateName);
    if (!found) throw error;
    return { id: found.id, version: found.version };
  }
}

async function ensureCampaign(api: ApiClient, state: DemoState, listId: string): Promise<string> {
  const query = new URLSearchParams({ page: '1', limit: '10', channel: 'sms', search: state.name });
  const { data } = await api.get(`/api/campaign?${query}`, named);
  const found = data.find((campaign) => campaign.name === state.name);
  if (found) return found.id;
  const { email, sms, voice } = state.templates;
  if (!email || !sms || !voice) throw new Error('a campaign over three channels needs three templates');
  const body = demoCampaign({ name: state.name, listId, templates: { email, sms, voice } });
  return (await api.post('/api/campaign', body, created)).data.id;
}
