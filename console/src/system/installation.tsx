import { useQuery } from '@tanstack/react-query';
import { call } from '../api/client';
import type { Installation as Facts, ReadInstallationData, ReadInstallationResponse } from '../api/types.gen';
import { Badge } from '../design/badge';
import { Loaded } from '../design/loaded';
import { type Column, Table } from '../design/table';
import { Time } from '../design/time';
import { fill } from '../format';
import { TEXTS } from '../texts';

const texts = TEXTS.system.installation;

type Process = Facts['processes'][number];

/** The processes that work together and what they share: of the whole installation, and so for its owner. */
export function Installation() {
  const installation = useQuery({
    queryKey: ['installation'],
    refetchInterval: 10_000,
    queryFn: async ({ signal }) =>
      (
        await call<ReadInstallationData, ReadInstallationResponse>('GET', '/api/admin/installation', {
          signal,
        })
      ).data,
  });
  return (
    <Loaded query={installation}>
      {(now) => (
        <>
          <section className="stack tight" aria-labelledby="processes">
            <h2 id="processes">{texts.processes}</h2>
            <Table caption={texts.processes} columns={COLUMNS} rows={now.processes} keyOf={({ id }) => id} />
            <p className="muted small">{texts.processesMean}</p>
          </section>
          <div className="columns">
            <Temporal {...now.temporal} />
            <Versions {...now} />
          </div>
        </>
      )}
    </Loaded>
  );
}

const COLUMNS: Column<Process>[] = [
  {
    key: 'host',
    head: texts.process,
    cell: ({ host, pid, answers }) => (
      <>
        <span className="mono">{fill(texts.hostAndPid, { host, pid: String(pid) })}</span>
        {answers && <div className="muted small">{texts.answers}</div>}
      </>
    ),
  },
  {
    key: 'state',
    head: TEXTS.system.state,
    cell: ({ state, lastSeenAt }) => (
      <>
        <Badge tone={state === 'lives' ? 'ok' : 'bad'}>{texts.states[state]}</Badge>
        {state === 'silent' && (
          <div className="small">
            {texts.lastSeen} <Time at={lastSeenAt} />
          </div>
        )}
      </>
    ),
  },
  { key: 'roles', head: texts.does, cell: ({ roles }) => roles.map((role) => texts.roles[role]).join(', ') },
  {
    key: 'version',
    head: texts.version,
    cell: ({ version, buildId }) => (buildId ? fill(texts.build, { version, buildId }) : version),
  },
  { key: 'since', head: texts.since, cell: ({ startedAt }) => <Time at={startedAt} /> },
];

function Temporal({ address, namespace, version, uiUrl }: Facts['temporal']) {
  return (
    <section className="card stack tight" aria-labelledby="temporal">
      <h2 id="temporal">{texts.temporal}</h2>
      <dl className="facts">
        <dt>{texts.address}</dt>
        <dd className="mono">{address}</dd>
        <dt>{texts.namespace}</dt>
        <dd className="mono">{namespace}</dd>
        <dt>{texts.version}</dt>
        <dd>{version ?? texts.noAnswer}</dd>
      </dl>
      {uiUrl ? (
        <p>
          <a href={`${uiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows`}>{texts.openUi}</a>
        </p>
      ) : (
        <p className="muted">{texts.noUi}</p>
      )}
      <p className="muted small">{texts.uiMeans}</p>
    </section>
  );
}

function Versions({ version, node, database }: Facts) {
  const { isManaged, schema } = database;
  return (
    <section className="card stack tight" aria-labelledby="versions">
      <h2 id="versions">{texts.versions}</h2>
      <dl className="facts">
        <dt>Fanfare</dt>
        <dd>{version}</dd>
        <dt>Node.js</dt>
        <dd>{node}</dd>
        <dt>PostgreSQL</dt>
        <dd>{fill(isManaged ? texts.managed : texts.ownServer, { version: database.version })}</dd>
        <dt>{texts.schema}</dt>
        <dd className="mono">{schema}</dd>
      </dl>
    </section>
  );
}
