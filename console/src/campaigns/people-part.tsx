import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { addressOf } from '../api/client';
import type { Recipient } from '../api/types.gen';
import { Badge } from '../design/badge';
import { Button, LinkButton } from '../design/button';
import { ExportButton } from '../design/export-button';
import { Field, Select } from '../design/field';
import { SearchField } from '../design/search-field';
import { EmptyState, ErrorState, Skeleton } from '../design/states';
import { Time } from '../design/time';
import { useMedia } from '../design/use-media';
import { fill, formatNumber } from '../format';
import { TEXTS } from '../texts';
import { AbsentPerson } from './absent-person';
import { campaignQuery, type RecipientFilter, recipientsQuery } from './campaign-queries';
import { CHANNELS, STATES, stateTone, stateWord } from './campaign-words';
import { useScaledRows } from './scaled-rows';

const { campaign: texts, channels, common } = TEXTS;
const route = getRouteApi('/signed-in/campaigns/$id/recipients');

export function PeoplePart() {
  const { id } = route.useParams();
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changed: Partial<RecipientFilter>) =>
    navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  return (
    <section className="stack" aria-label={texts.people.title}>
      {filter.runId && (
        <p className="notice">
          {texts.people.ofRun}{' '}
          <Button small kind="quiet" onClick={() => change({ runId: undefined })}>
            {texts.people.allRuns}
          </Button>
        </p>
      )}
      <PeopleFilter filter={filter} onChange={change} />
      <People id={id} filter={filter} />
      <div className="row">
        <ExportButton
          address={addressOf('/api/campaign/{id}/recipients.csv', { id }, { ...filter })}
          name={`recipients-${id}.csv`}
        >
          {texts.exportCsv}
        </ExportButton>
      </div>
    </section>
  );
}

function PeopleFilter({
  filter,
  onChange,
}: {
  filter: RecipientFilter;
  onChange(changed: Partial<RecipientFilter>): void;
}) {
  return (
    <search className="filters">
      <SearchField
        hint={texts.people.searchHint}
        value={filter.search ?? ''}
        onSearch={(search) => onChange({ search: search.trim() || undefined })}
      />
      <Select
        label={TEXTS.campaigns.channel}
        value={filter.channel ?? ''}
        onChange={({ target }) =>
          onChange({ channel: (target.value || undefined) as RecipientFilter['channel'] })
        }
      >
        <option value="">{TEXTS.campaigns.allChannels}</option>
        {CHANNELS.map((one) => (
          <option key={one} value={one}>
            {channels[one]}
          </option>
        ))}
      </Select>
      <Select
        label={texts.state}
        value={filter.state ?? ''}
        onChange={({ target }) =>
          onChange({ state: (target.value || undefined) as RecipientFilter['state'] })
        }
      >
        <option value="">{texts.people.any}</option>
        {STATES.map((one) => (
          <option key={one} value={one}>
            {stateWord(one)}
          </option>
        ))}
      </Select>
      <Field
        label={texts.people.code}
        value={filter.code ?? ''}
        onChange={({ target }) => onChange({ code: target.value || undefined })}
      />
    </search>
  );
}

function People({ id, filter }: { id: string; filter: RecipientFilter }) {
  const found = useInfiniteQuery(recipientsQuery(id, filter));
  const { data: campaign } = useQuery(campaignQuery(id));
  const { hasNextPage, isFetching, fetchNextPage } = found;
  const isEmptySoFar = found.data?.pages.every(({ data }) => data.length === 0) ?? false;
  // A page may be empty although more follow, when the server has looked at many recipients and found none.
  useEffect(() => {
    if (isEmptySoFar && hasNextPage && !isFetching) void fetchNextPage();
  }, [isEmptySoFar, hasNextPage, isFetching, fetchNextPage]);
  if (found.isPending || (isEmptySoFar && hasNextPage && !found.error)) return <Skeleton lines={8} />;
  if (found.error) return <ErrorState error={found.error} onRetry={() => found.refetch()} />;
  const rows = found.data.pages.flatMap(({ data }) => data);
  if (rows.length === 0) {
    if (filter.search) return <AbsentPerson id={id} to={filter.search} />;
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    return (
      <EmptyState
        title={isFiltered ? texts.people.none : texts.people.empty}
        action={
          isFiltered && (
            <LinkButton to="/campaigns/$id/recipients" params={{ id }}>
              {texts.people.all}
            </LinkButton>
          )
        }
      >
        {isFiltered ? texts.people.noneFiltered : texts.people.emptyText}
      </EmptyState>
    );
  }
  const isAll = Object.values(filter).every((value) => value === undefined);
  const total = Object.values(campaign?.counts ?? {}).reduce((sum, one) => sum + one.total, 0);
  return (
    <Rows
      id={id}
      rows={rows}
      total={isAll && total >= rows.length ? total : undefined}
      hasMore={found.hasNextPage}
      isLoading={found.isFetchingNextPage}
      onMore={() => found.fetchNextPage()}
      onRefresh={() => found.refetch()}
      isRefreshing={found.isRefetching}
    />
  );
}

interface RowsProps {
  id: string;
  rows: readonly Recipient[];
  /** Known without a filter only. */
  total: number | undefined;
  hasMore: boolean;
  isLoading: boolean;
  isRefreshing: boolean;
  onMore(): void;
  onRefresh(): void;
}

const ROW_PX = { wide: 44, narrow: 72 };
/** How many rows before the end the next page is asked for. */
const AHEAD = 60;

/** Only the rows on the screen are in the document, so that a million of them cost what twenty do. */
function Rows({ id, rows, total, hasMore, isLoading, isRefreshing, onMore, onRefresh }: RowsProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const isNarrow = useMedia('(width < 56rem)');
  const height = isNarrow ? ROW_PX.narrow : ROW_PX.wide;
  const { items, spacePx, shiftPx } = useScaledRows({ count: rows.length, height, scroll });
  const lastShown = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && !isLoading && lastShown > rows.length - AHEAD) onMore();
  }, [hasMore, isLoading, lastShown, rows.length, onMore]);
  const visible = { first: (items[0]?.index ?? 0) + 1, last: lastShown + 1 };
  return (
    <div className="stack tight">
      <div className="people" role="table" aria-label={texts.people.title} aria-rowcount={total ?? -1}>
        <div role="rowgroup">
          <div className="people-row people-head" role="row" aria-rowindex={1}>
            {HEADS.map((head) => (
              <span key={head} role="columnheader">
                {head}
              </span>
            ))}
          </div>
        </div>
        <div
          className="people-scroll"
          ref={scroll}
          role="rowgroup"
          tabIndex={0}
          aria-label={texts.people.title}
        >
          <div className="people-space" role="presentation" style={{ height: spacePx }}>
            {items.map(({ index, start }) => {
              const row = rows[index];
              return (
                row && (
                  <Row key={row.id} id={id} row={row} index={index} start={start + shiftPx} height={height} />
                )
              );
            })}
          </div>
        </div>
      </div>
      <div className="row spread">
        <span className="muted" role="status">
          {total === undefined
            ? fill(texts.people.loadedSome, visible)
            : fill(texts.people.loaded, { ...visible, n: formatNumber(total) })}
          {isLoading && ` · ${texts.people.more}`}
        </span>
        <Button small busy={isRefreshing} onClick={onRefresh}>
          {texts.people.refresh}
        </Button>
      </div>
    </div>
  );
}

const HEADS = [
  texts.people.address,
  TEXTS.campaigns.channel,
  texts.state,
  texts.people.outcome,
  texts.people.attempts,
  texts.people.updated,
];

interface RowProps {
  id: string;
  row: Recipient;
  index: number;
  start: number;
  height: number;
}

function Row({ id, row, index, start, height }: RowProps) {
  const tone = stateTone(row.state);
  return (
    <div
      className="people-row"
      role="row"
      aria-rowindex={index + 2}
      style={{ height, transform: `translateY(${start}px)` }}
    >
      <span role="cell">
        <Link to="/campaigns/$id/recipients/$recipientId" params={{ id, recipientId: row.id }}>
          {row.address || row.contactId || common.none}
        </Link>
      </span>
      <span role="cell">{channels[row.channel]}</span>
      <span role="cell">
        <Badge tone={tone === 'open' ? 'idle' : tone}>{stateWord(row.state)}</Badge>
      </span>
      <span role="cell" className="muted">
        {[row.outcome, row.code].filter(Boolean).join(' · ') || '–'}
      </span>
      <span role="cell">{row.attempts}</span>
      <span role="cell" className="muted small">
        <Time at={row.updatedAt} />
      </span>
    </div>
  );
}
