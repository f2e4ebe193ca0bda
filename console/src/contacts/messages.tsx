import { call } from '../api/client';
import { useCursorList } from '../api/cursor-list';
import type { ReadContactTimelineData, ReadContactTimelineResponse, TimelineEntry } from '../api/types.gen';
import { isState, stateWord } from '../campaigns/campaign-words';
import { Badge, type Tone } from '../design/badge';
import { Loaded } from '../design/loaded';
import { More } from '../design/paging';
import { EmptyState } from '../design/states';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { TEXTS } from '../texts';

const { contacts: texts, channels } = TEXTS;
const LIMIT = 50;

/** What campaigns have sent to one person, newest first. */
export function Messages({ contactId }: { contactId: string }) {
  const entries = useCursorList<TimelineEntry>(['contact', contactId, 'messages'], (cursor, signal) =>
    call<ReadContactTimelineData, ReadContactTimelineResponse>('GET', '/api/contact/{id}/timeline', {
      path: { id: contactId },
      query: { limit: LIMIT, ...(cursor === undefined ? {} : { cursor }) },
      signal,
    }),
  );
  return (
    <Loaded query={{ ...entries, data: entries.rows }}>
      {(rows) =>
        rows.length === 0 ? (
          <EmptyState title={texts.noMessages}>{texts.noMessagesText}</EmptyState>
        ) : (
          <>
            <Table
              caption={texts.messages}
              rows={rows}
              keyOf={keyOf}
              columns={[
                { key: 'at', head: texts.when, cell: ({ at }) => <Time at={at} /> },
                { key: 'what', head: texts.campaign, cell: whatOf },
                { key: 'channel', head: texts.channel, cell: ({ channel }) => channelOf(channel) },
                { key: 'state', head: texts.state, cell: stateOf },
                { key: 'why', head: texts.outcome, cell: whyOf },
              ]}
            />
            <More
              shown={rows.length}
              hasMore={entries.hasNextPage}
              isLoading={entries.isFetchingNextPage}
              onMore={() => void entries.fetchNextPage()}
            />
          </>
        )
      }
    </Loaded>
  );
}

function keyOf(entry: TimelineEntry): string {
  const { kind, at, channel } = entry;
  const id = 'runId' in entry ? entry.runId : 'uid' in entry ? entry.uid : '';
  return [kind, at, channel, id].join(' ');
}

const whatOf = (entry: TimelineEntry) => ('campaign' in entry ? entry.campaign : texts.kinds[entry.kind]);
const channelOf = (channel: string) => channels[channel as keyof typeof channels] ?? channel;

function stateOf(entry: TimelineEntry) {
  if ('state' in entry) return <Badge tone={toneOf(entry.state)}>{wordOf(entry.state)}</Badge>;
  return <Badge tone={entry.kind === 'skipped' ? 'warn' : 'idle'}>{texts.kinds[entry.kind]}</Badge>;
}

/** A message may be `scheduled`, which no recipient is. */
const wordOf = (state: string) => (isState(state) ? stateWord(state) : state);

function whyOf(entry: TimelineEntry): string {
  if (entry.kind === 'recipient') return [entry.outcome, entry.code].filter(Boolean).join(' · ') || '–';
  if ('reason' in entry) return entry.reason;
  return ('code' in entry && entry.code) || '–';
}

function toneOf(state: string): Tone {
  if (state === 'delivered') return 'ok';
  if (['failed', 'rejected', 'undelivered'].includes(state)) return 'bad';
  if (['suppressed', 'expired', 'unknown', 'canceled'].includes(state)) return 'warn';
  return 'busy';
}
