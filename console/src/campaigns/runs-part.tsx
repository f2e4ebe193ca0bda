import { getRouteApi, Link } from '@tanstack/react-router';
import { call } from '../api/client';
import { useCursorList } from '../api/cursor-list';
import type { ListCampaignRunsData, ListCampaignRunsResponse } from '../api/types.gen';
import { Badge } from '../design/badge';
import { Loaded } from '../design/loaded';
import { More } from '../design/paging';
import { EmptyState } from '../design/states';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { fill, formatTime } from '../format';
import { TEXTS } from '../texts';
import { countsSentence, phaseTone, phaseWord, sumOf } from './campaign-words';

const texts = TEXTS.campaign.runs;
const route = getRouteApi('/signed-in/campaigns/$id/runs');
type Run = ListCampaignRunsResponse['data'][number];

/** Each occurrence of a recurring campaign: when it was due, what became of it, and its recipients. */
export function RunsPart() {
  const { id } = route.useParams();
  const runs = useCursorList<Run>(
    ['campaign', id, 'runs'],
    (cursor, signal) =>
      call<ListCampaignRunsData, ListCampaignRunsResponse>('GET', '/api/campaign/{id}/runs', {
        path: { id },
        query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) },
        signal,
      }),
    { refetchInterval: 10_000 },
  );
  return (
    <section className="stack" aria-label={texts.title}>
      <Loaded query={{ ...runs, data: runs.rows }}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title={texts.none}>{texts.noneText}</EmptyState>
          ) : (
            <div className="stack tight">
              <Runs id={id} rows={rows} />
              <More
                shown={rows.length}
                hasMore={runs.hasNextPage}
                isLoading={runs.isFetchingNextPage}
                onMore={() => void runs.fetchNextPage()}
              />
            </div>
          )
        }
      </Loaded>
    </section>
  );
}

function Runs({ id, rows }: { id: string; rows: readonly Run[] }) {
  return (
    <Table
      caption={texts.title}
      rows={rows}
      keyOf={(run) => run.id}
      stacks
      columns={[
        {
          key: 'number',
          head: texts.number,
          cell: (run) => (
            <Link to="/campaigns/$id/recipients" params={{ id }} search={{ runId: run.id }}>
              {fill(texts.runN, { n: run.number })}
            </Link>
          ),
        },
        {
          key: 'phase',
          head: texts.phase,
          cell: ({ phase }) => <Badge tone={phaseTone(phase)}>{phaseWord(phase)}</Badge>,
        },
        {
          key: 'due',
          head: texts.due,
          cell: ({ scheduledFor }) => (scheduledFor ? <Time at={scheduledFor} /> : texts.byHand),
        },
        { key: 'started', head: texts.started, cell: ({ startedAt }) => <Moment at={startedAt} /> },
        { key: 'finished', head: texts.finished, cell: ({ finishedAt }) => <Moment at={finishedAt} /> },
        { key: 'result', head: texts.result, cell: (run) => <Result run={run} /> },
      ]}
    />
  );
}

const Moment = ({ at }: { at: string | null }) => (at ? <Time at={at} /> : <>–</>);

function Result({ run: { counts, recipientsDeletedAt } }: { run: Run }) {
  return (
    <>
      {countsSentence(sumOf(Object.values(counts)))}
      {recipientsDeletedAt && (
        <span className="muted small"> {fill(texts.deleted, { at: formatTime(recipientsDeletedAt) })}</span>
      )}
    </>
  );
}
