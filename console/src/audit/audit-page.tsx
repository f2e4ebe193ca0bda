import { getRouteApi } from '@tanstack/react-router';
import { call } from '../api/client';
import { useCursorList } from '../api/cursor-list';
import type { AuditEntry, ListAuditData, ListAuditResponse } from '../api/types.gen';
import { Badge } from '../design/badge';
import { Field } from '../design/field';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { More } from '../design/paging';
import { EmptyState } from '../design/states';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { TEXTS } from '../texts';

const { audit: texts } = TEXTS;
const route = getRouteApi('/signed-in/audit');
const TONES = { ok: 'ok', refused: 'warn', failed: 'bad' } as const;

/** Who did what in this workspace, newest first. */
export function AuditPage() {
  const { actor = '', action = '', object = '', from = '', to = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const filters = { actor, action, object, from, to };
  const entries = useCursorList<AuditEntry>(['audit', filters], (cursor, signal) =>
    call<ListAuditData, ListAuditResponse>('GET', '/api/admin/audit', {
      query: {
        ...{ actor, action, object, limit: 100 },
        ...(cursor && { cursor }),
        ...(from && { from: new Date(`${from}T00:00:00`).toISOString() }),
        ...(to && { to: new Date(`${to}T23:59:59.999`).toISOString() }),
      },
      signal,
    }),
  );
  const set = (name: keyof typeof filters, value: string) =>
    navigate({
      replace: true,
      search: Object.fromEntries(
        Object.entries({ ...filters, [name]: value }).filter(([, text]) => text !== ''),
      ),
    });
  return (
    <Page title={TEXTS.nav.audit} lead={texts.lead}>
      <div className="settings-row">
        {(['actor', 'action', 'object'] as const).map((name) => (
          <Field
            key={name}
            label={texts[name]}
            hint={texts.hints[name]}
            value={filters[name]}
            onChange={({ target }) => void set(name, target.value)}
          />
        ))}
        {(['from', 'to'] as const).map((name) => (
          <Field
            key={name}
            type="date"
            label={texts[name]}
            value={filters[name]}
            onChange={({ target }) => void set(name, target.value)}
          />
        ))}
      </div>
      <Loaded query={{ ...entries, data: entries.rows }} lines={8}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title={texts.none}>{texts.noneText}</EmptyState>
          ) : (
            <>
              <Table caption={TEXTS.nav.audit} rows={rows} keyOf={({ id }) => id} columns={COLUMNS} />
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
    </Page>
  );
}

const COLUMNS = [
  { key: 'at', head: texts.at, cell: ({ at }: AuditEntry) => <Time at={at} /> },
  {
    key: 'action',
    head: texts.action,
    cell: ({ action }: AuditEntry) => <code className="whole">{action}</code>,
  },
  {
    key: 'result',
    head: texts.result,
    cell: ({ result }: AuditEntry) => <Badge tone={TONES[result]}>{texts.results[result]}</Badge>,
  },
  { key: 'actor', head: texts.actor, cell: ({ actor }: AuditEntry) => <Named {...actor} /> },
  { key: 'object', head: texts.object, cell: ({ object }: AuditEntry) => <Named {...object} /> },
  { key: 'address', head: texts.address, cell: ({ address }: AuditEntry) => address ?? '–' },
  {
    key: 'detail',
    head: texts.detail,
    cell: ({ detail }: AuditEntry) =>
      Object.keys(detail).length === 0 ? '–' : <code>{JSON.stringify(detail)}</code>,
  },
];

function Named({ kind, id }: { kind: string; id: string | null }) {
  return (
    <>
      {kind}
      {id && <code className="block-code">{id}</code>}
    </>
  );
}
