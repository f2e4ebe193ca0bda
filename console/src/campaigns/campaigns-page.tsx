import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { Overview } from '../api/types.gen';
import { Badge } from '../design/badge';
import { Bar } from '../design/bar';
import { Button, LinkButton } from '../design/button';
import { Page } from '../design/page';
import { EmptyState, ErrorState, Skeleton } from '../design/states';
import { type Column, Table } from '../design/table';
import { Time } from '../design/time';
import { fill, plural } from '../format';
import { overviewQuery } from '../home/home-queries';
import { useMay } from '../shell/allowed';
import { TEXTS } from '../texts';
import { Filters } from './campaign-filters';
import { barParts, countsSentence, doneShare, phaseTone, phaseWord, sumOf } from './campaign-words';
import './campaigns.css';
import { type CampaignFilter, campaignsQuery, type ListedCampaign, PAGE_SIZE } from './campaigns-query';

const { campaigns: texts, channels } = TEXTS;
const route = getRouteApi('/signed-in/campaigns');

export function CampaignsPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const may = useMay();
  const found = useQuery(campaignsQuery(filter));
  const { data: live } = useQuery(overviewQuery);
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
            columns={columnsOf(live?.campaigns ?? [])}
            rows={found.data.rows}
            keyOf={({ id }) => id}
          />
          <Pages total={found.data.total} page={filter.page ?? 1} />
        </>
      )}
    </Page>
  );
}

type Live = Overview['campaigns'][number];

/** Progress of those that are under way, as Home has it; the thousands that are not have theirs on their own page. */
const columnsOf = (live: readonly Live[]): Column<ListedCampaign>[] => [
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
  {
    key: 'progress',
    head: TEXTS.campaign.progress,
    cell: ({ id }) => <Progress counts={live.find((one) => one.id === id)?.counts} />,
  },
  { key: 'created', head: texts.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

function Progress({ counts }: { counts: Live['counts'] | undefined }) {
  const sum = sumOf(Object.values(counts ?? {}));
  if (sum.total === 0) return '–';
  return (
    <div className="progress">
      <Bar parts={barParts(sum)} label={countsSentence(sum)} />
      <span className="muted small">{fill(TEXTS.campaign.done, { share: doneShare(sum) })}</span>
    </div>
  );
}

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
