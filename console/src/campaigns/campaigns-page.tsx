import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Badge } from '../design/badge';
import { Button, LinkButton } from '../design/button';
import { Field, Select } from '../design/field';
import { Page } from '../design/page';
import { SearchField } from '../design/search-field';
import { EmptyState, ErrorState, Skeleton } from '../design/states';
import { type Column, Table } from '../design/table';
import { Time } from '../design/time';
import { fill, plural } from '../format';
import { useMay } from '../shell/allowed';
import { TEXTS } from '../texts';
import { CHANNELS, phaseTone, phaseWord } from './campaign-words';
import './campaigns.css';
import { type CampaignFilter, campaignsQuery, type ListedCampaign, PAGE_SIZE } from './campaigns-query';

const { campaigns: texts, channels } = TEXTS;
const route = getRouteApi('/signed-in/campaigns');

export function CampaignsPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const may = useMay();
  const found = useQuery(campaignsQuery(filter));
  const change = (changed: Partial<CampaignFilter>) =>
    navigate({ search: (before) => ({ ...before, page: undefined, ...changed }), replace: true });
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Filters filter={filter} onChange={change} />
      {found.isPending && <Skeleton lines={8} />}
      {found.error && <ErrorState error={found.error} onRetry={() => found.refetch()} />}
      {found.data && found.data.rows.length === 0 && (
        <EmptyState
          title={isFiltered ? texts.noMatch : texts.empty}
          action={
            isFiltered ? (
              <Button onClick={() => navigate({ search: {} })}>{texts.clear}</Button>
            ) : (
              may('editor') && <LinkButton to="/new-campaign">{TEXTS.home.make}</LinkButton>
            )
          }
        >
          {isFiltered ? texts.noMatchText : texts.emptyText}
        </EmptyState>
      )}
      {found.data && found.data.rows.length > 0 && (
        <>
          <Table
            caption={plural(found.data.total, texts.count)}
            columns={COLUMNS}
            rows={found.data.rows}
            keyOf={({ id }) => id}
          />
          <Pages total={found.data.total} page={filter.page ?? 1} />
        </>
      )}
    </Page>
  );
}

function Filters({
  filter,
  onChange,
}: {
  filter: CampaignFilter;
  onChange(changed: Partial<CampaignFilter>): void;
}) {
  return (
    <search className="filters">
      <SearchField
        value={filter.search ?? ''}
        onSearch={(search) => onChange({ search: search.trim() || undefined })}
      />
      <Select
        label={texts.channel}
        value={filter.channel ?? ''}
        onChange={({ target }) =>
          onChange({ channel: (target.value || undefined) as CampaignFilter['channel'] })
        }
      >
        <option value="">{texts.allChannels}</option>
        {CHANNELS.map((one) => (
          <option key={one} value={one}>
            {channels[one]}
          </option>
        ))}
      </Select>
      <Select
        label={texts.status}
        value={filter.status ?? ''}
        onChange={({ target }) =>
          onChange({ status: (target.value || undefined) as CampaignFilter['status'] })
        }
      >
        <option value="">{texts.anyStatus}</option>
        {(['active', 'paused', 'completed'] as const).map((one) => (
          <option key={one} value={one}>
            {texts.statuses[one]}
          </option>
        ))}
      </Select>
      <Select
        label={texts.order}
        value={filter.order ?? 'newest'}
        onChange={({ target }) =>
          onChange({
            order: (target.value === 'newest' ? undefined : target.value) as CampaignFilter['order'],
          })
        }
      >
        {(['newest', 'oldest', 'name'] as const).map((one) => (
          <option key={one} value={one}>
            {texts.orders[one]}
          </option>
        ))}
      </Select>
      <Field
        label={texts.from}
        type="date"
        value={filter.from ?? ''}
        onChange={({ target }) => onChange({ from: target.value || undefined })}
      />
      <Field
        label={texts.to}
        type="date"
        value={filter.to ?? ''}
        onChange={({ target }) => onChange({ to: target.value || undefined })}
      />
      <Field
        label={texts.tag}
        value={filter.tag ?? ''}
        maxLength={40}
        onChange={({ target }) => onChange({ tag: target.value || undefined })}
      />
      <Select
        label={texts.archived}
        value={filter.archived ? 'yes' : ''}
        onChange={({ target }) => onChange({ archived: target.value === 'yes' || undefined })}
      >
        <option value="">{TEXTS.common.no}</option>
        <option value="yes">{TEXTS.common.yes}</option>
      </Select>
    </search>
  );
}

const COLUMNS: Column<ListedCampaign>[] = [
  {
    key: 'name',
    head: texts.name,
    cell: ({ id, name, tags }) => (
      <>
        <Link to="/campaigns/$id" params={{ id }}>
          {name}
        </Link>
        {tags && tags.length > 0 && <div className="muted small">{tags.join(', ')}</div>}
      </>
    ),
  },
  {
    key: 'phase',
    head: texts.phase,
    cell: ({ phase }) => <Badge tone={phaseTone(phase)}>{phaseWord(phase)}</Badge>,
  },
  {
    key: 'channel',
    head: texts.channel,
    cell: ({ channel }) => channel.map((one) => channels[one]).join(', '),
  },
  { key: 'created', head: texts.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

function Pages({ total, page }: { total: number; page: number }) {
  const navigate = route.useNavigate();
  const pages = Math.max(1, Math.ceil(total / PAGE_SIZE));
  if (pages === 1) return null;
  const go = (to: number) =>
    navigate({ search: (before) => ({ ...before, page: to === 1 ? undefined : to }) });
  return (
    <div className="row">
      <Button small unavailable={page <= 1} onClick={() => go(page - 1)}>
        {texts.previous}
      </Button>
      <span className="muted">{fill(texts.page, { page, pages })}</span>
      <Button small unavailable={page >= pages} onClick={() => go(page + 1)}>
        {texts.following}
      </Button>
    </div>
  );
}
