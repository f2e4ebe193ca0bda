import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { call } from '../api/client';
import type {
  CreateCampaignData,
  CreateCampaignResponse,
  DryRunCampaignData,
  DryRunCampaignResponse,
  ListContactListsData,
  ListContactListsResponse,
  ListContactsData,
  ListContactsResponse,
  ListTemplatesData,
  ListTemplatesResponse,
  PreviewTemplateData,
  PreviewTemplateResponse,
  ReadContactListData,
  ReadContactListResponse,
  ReadTemplateData,
  ReadTemplateResponse,
} from '../api/types.gen';
import type { Body, ChannelName, Draft } from './draft';
import { recipientsOf } from './recipients-text';

/** As many as one page holds; the search finds the others. */
const SHOWN = 100;

export const listsQuery = (search: string) =>
  queryOptions({
    queryKey: ['contact-lists', 'to choose', search],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      (
        await call<ListContactListsData, ListContactListsResponse>('GET', '/api/contact-list', {
          query: { page: 1, limit: SHOWN, search },
          signal,
        })
      ).data,
  });

/** One that is chosen and not among those that the search has found. */
export const listQuery = (id: string) =>
  queryOptions({
    queryKey: ['contact-list', id, 'chosen'],
    queryFn: async ({ signal }) =>
      (
        await call<ReadContactListData, ReadContactListResponse>('GET', '/api/contact-list/{id}', {
          path: { id },
          signal,
        })
      ).data,
  });

export const templatesQuery = (channel: ChannelName, search: string) =>
  queryOptions({
    queryKey: ['templates', 'to choose', channel, search],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      (
        await call<ListTemplatesData, ListTemplatesResponse>('GET', '/api/template', {
          query: { channel, page: 1, pageSize: SHOWN, search },
          signal,
        })
      ).templates,
  });

export const templateQuery = (id: string) =>
  queryOptions({
    queryKey: ['template', id],
    enabled: id !== '',
    queryFn: async ({ signal }) =>
      (
        await call<ReadTemplateData, ReadTemplateResponse>('GET', '/api/template/{id}', {
          path: { id },
          signal,
        })
      ).data,
  });

/** The template as the first of the chosen recipients would get it. */
export const previewQuery = (draft: Draft, channel: ChannelName) => {
  const { templateId, version } = draft[channel];
  const [list] = draft.lists;
  const pasted = draft.pasted === '' ? undefined : recipientsOf(draft.pasted.slice(0, 20_000))[0];
  return queryOptions({
    queryKey: ['template preview', templateId, version, list, JSON.stringify(pasted)],
    enabled: templateId !== '',
    retry: false,
    queryFn: async ({ signal }) => {
      const contactId = list === undefined ? undefined : await firstOf(list, signal);
      const params = { ...fieldsOf(pasted), ...pasted?.params };
      const body = { version, params, ...(contactId ? { contactId } : {}) };
      return (
        await call<PreviewTemplateData, PreviewTemplateResponse>('POST', '/api/template/{id}/preview', {
          path: { id: templateId },
          body,
          signal,
        })
      ).data;
    },
  });
};

async function firstOf(list: string, signal: AbortSignal): Promise<string | undefined> {
  const { data } = await call<ListContactsData, ListContactsResponse>(
    'GET',
    '/api/contact-list/{id}/contacts',
    { path: { id: list }, query: { limit: 1 }, signal },
  );
  return data[0]?.id;
}

/** Fields of a contact stand in templates by their names in capitals. */
function fieldsOf(recipient: ReturnType<typeof recipientsOf>[number] | undefined): Record<string, string> {
  const { params: _params, ...fields } = recipient ?? {};
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name.toUpperCase(), value]));
}

export const dryRun = (body: Body, country: string) =>
  call<DryRunCampaignData, DryRunCampaignResponse>('POST', '/api/campaign/dry-run', {
    ...(country ? { query: { country } } : {}),
    body: body as DryRunCampaignData['body'],
  });

export const create = (body: Body, country: string, key: string) =>
  call<CreateCampaignData, CreateCampaignResponse>('POST', '/api/campaign', {
    ...(country ? { query: { country } } : {}),
    body,
    idempotencyKey: key,
  });
