import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { call } from '../api/client';
import type { ListTemplatesData, ListTemplatesResponse } from '../api/types.gen';
import { LinkButton } from '../design/button';
import { Select } from '../design/field';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { Paging } from '../design/paging';
import { SearchField } from '../design/search-field';
import { EmptyState } from '../design/states';
import { Table } from '../design/table';
import { Tabs } from '../design/tabs';
import { Time } from '../design/time';
import { fill } from '../format';
import { Allowed, useMay } from '../shell/allowed';
import { TEXTS } from '../texts';

const { templates: texts, channels } = TEXTS;
const route = getRouteApi('/signed-in/templates');
const CHANNELS = ['email', 'sms', 'voice'] as const;

type Listed = ListTemplatesResponse['templates'][number];

/** Templates by channel, with the specification's search and order. */
export function TemplatesPage() {
  const { channel = 'email' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Page
      title={TEXTS.nav.templates}
      lead={texts.lead}
      actions={
        <Allowed from="editor" label={fill(texts.newOf, { channel: channels[channel] })}>
          <LinkButton kind="primary" to="/templates/new/$channel" params={{ channel }}>
            {fill(texts.newOf, { channel: channels[channel] })}
          </LinkButton>
        </Allowed>
      }
    >
      <Tabs
        label={texts.channel}
        tabs={CHANNELS.map((key) => ({ key, label: channels[key] }))}
        chosen={channel}
        onChoose={(chosen) => void navigate({ search: { channel: chosen } })}
      >
        <Templates />
      </Tabs>
    </Page>
  );
}

const ORDERS = {
  newest: {},
  name: { column: 'templateName', direction: 'asc' },
  changed: { column: 'updatedAt', direction: 'desc' },
  oldest: { column: 'createdAt', direction: 'asc' },
} as const;
type Order = keyof typeof ORDERS;

function Templates() {
  const { channel = 'email', page = 1, search = '', order = 'newest' } = route.useSearch();
  const navigate = route.useNavigate();
  const may = useMay();
  const list = useQuery({
    queryKey: ['templates', { channel, page, search, order }],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      call<ListTemplatesData, ListTemplatesResponse>('GET', '/api/template', {
        query: { channel, page, pageSize: 20, search, ...ORDERS[order] },
        signal,
      }),
  });
  const go = (changed: { page?: number; search?: string; order?: Order }) => {
    const next: { page: number; search: string; order: Order } = { page: 1, search, order, ...changed };
    return navigate({
      replace: true,
      search: {
        channel,
        ...(next.search && { search: next.search }),
        ...(next.page > 1 && { page: next.page }),
        ...(next.order !== 'newest' && { order: next.order }),
      },
    });
  };
  return (
    <div className="stack">
      <div className="row end">
        <SearchField value={search} onSearch={(value) => void go({ search: value })} />
        <Select
          label={texts.order}
          value={order}
          onChange={({ target }) => void go({ order: target.value as Order })}
        >
          {(Object.keys(ORDERS) as Order[]).map((key) => (
            <option key={key} value={key}>
              {texts.orders[key]}
            </option>
          ))}
        </Select>
      </div>
      <Loaded query={list}>
        {({ templates, pageSize, total }) =>
          templates.length === 0 ? (
            <EmptyState
              title={search ? fill(TEXTS.common.nothingFound, { search }) : texts.none}
              action={
                !search &&
                may('editor') && (
                  <LinkButton to="/templates/new/$channel" params={{ channel }}>
                    {fill(texts.newOf, { channel: channels[channel] })}
                  </LinkButton>
                )
              }
            >
              {search ? TEXTS.common.nothingFoundText : texts.noneText}
            </EmptyState>
          ) : (
            <>
              <TemplateTable templates={templates} />
              <Paging page={page} limit={pageSize} total={total} onPage={(next) => void go({ page: next })} />
            </>
          )
        }
      </Loaded>
    </div>
  );
}

function TemplateTable({ templates }: { templates: Listed[] }) {
  return (
    <Table
      caption={TEXTS.nav.templates}
      rows={templates}
      keyOf={({ id }) => id}
      columns={[
        {
          key: 'name',
          head: texts.name,
          cell: ({ id, templateName }) => (
            <Link to="/templates/$templateId" params={{ templateId: id }}>
              {templateName}
            </Link>
          ),
        },
        { key: 'content', head: texts.content, cell: contentOf },
        { key: 'version', head: texts.version, numeric: true, cell: ({ version }) => version },
        {
          key: 'changed',
          head: TEXTS.common.changed,
          cell: ({ updatedAt }) => <Time at={updatedAt} />,
        },
      ]}
    />
  );
}

function contentOf(template: Listed): string {
  if (template.channel === 'sms') return shortened(template.body);
  if (template.channel === 'email') return shortened(template.subject);
  const nodes = Array.isArray(template.voiceJson.nodes) ? template.voiceJson.nodes : [];
  return fill(texts.steps, { n: nodes.length });
}

const shortened = (text: string) => (text.length > 90 ? `${text.slice(0, 89)}…` : text);
