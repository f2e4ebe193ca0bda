import { useQuery } from '@tanstack/react-query';
import { call } from '../api/client';
import { isProblem } from '../api/problem';
import type { ReadReadinessData, ReadReadinessResponse } from '../api/types.gen';
import { Badge } from '../design/badge';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { EmptyState } from '../design/states';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { fill } from '../format';
import { NotShown, useMay } from '../shell/allowed';
import { TEXTS } from '../texts';
import { Installation } from './installation';

const { system: texts } = TEXTS;
const TONES = { ok: 'ok', paused: 'bad', throttled: 'warn' } as const;

type Readiness = { isReady: true; is: ReadReadinessResponse } | { isReady: false; why: string };

/** How this process is and what it depends on, the accounts at carriers, and, for the owner, the whole installation. */
export function SystemPage() {
  const may = useMay();
  const readiness = useQuery({
    queryKey: ['readiness'],
    refetchInterval: 5_000,
    queryFn: async ({ signal }): Promise<Readiness> => {
      try {
        return {
          isReady: true,
          is: await call<ReadReadinessData, ReadReadinessResponse>('GET', '/readyz', { signal }),
        };
      } catch (error) {
        if (isProblem(error, 503)) return { isReady: false, why: error.message };
        throw error;
      }
    },
  });
  return (
    <Page title={TEXTS.nav.system} lead={texts.lead}>
      <Loaded query={readiness}>
        {(now) =>
          now.isReady ? (
            <Ready {...now.is} />
          ) : (
            <p className="notice bad" role="alert">
              {fill(texts.notReady, { why: now.why })}
            </p>
          )
        }
      </Loaded>
      {may('owner') ? (
        <Installation />
      ) : (
        <>
          <Version />
          <NotShown labels={[texts.installation.processes]} />
        </>
      )}
      <section className="card stack tight" aria-label={texts.more}>
        <h2>{texts.more}</h2>
        <ul className="bullets">
          <li>
            <a href="/docs">{texts.reference}</a>
          </li>
          <li>
            <a href="/docs/errors">{texts.errors}</a>
          </li>
          <li>{texts.doctor}</li>
        </ul>
      </section>
    </Page>
  );
}

function Ready({ checks, accounts }: ReadReadinessResponse) {
  return (
    <>
      <section className="card stack tight" aria-label={texts.checks}>
        <h2>{texts.checks}</h2>
        <dl className="facts">
          {Object.keys(checks).map((name) => (
            <div key={name} className="fact">
              <dt>{texts.checkNames[name as keyof typeof texts.checkNames] ?? name}</dt>
              <dd>
                <Badge tone="ok">{texts.answers}</Badge>
              </dd>
            </div>
          ))}
        </dl>
      </section>
      <h2>{texts.accounts}</h2>
      {accounts.length === 0 ? (
        <EmptyState title={texts.noAccounts}>{texts.noAccountsText}</EmptyState>
      ) : (
        <Table
          caption={texts.accounts}
          rows={accounts}
          keyOf={({ channel, kind, account }) => [channel, kind, account].join(' ')}
          columns={[
            { key: 'account', head: texts.account, cell: ({ account, kind }) => account ?? kind },
            { key: 'channel', head: texts.channel, cell: ({ channel }) => TEXTS.channels[channel] },
            {
              key: 'state',
              head: texts.state,
              cell: ({ state }) => <Badge tone={TONES[state]}>{texts.states[state]}</Badge>,
            },
            { key: 'reason', head: texts.reason, cell: ({ reason }) => reason ?? '–' },
            {
              key: 'next',
              head: texts.nextTry,
              cell: ({ nextTryAt }) => (nextTryAt ? <Time at={nextTryAt} /> : '–'),
            },
          ]}
        />
      )}
    </>
  );
}

interface ReadDocument {
  url: '/openapi.json';
}

function Version() {
  const document = useQuery({
    queryKey: ['openapi'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) =>
      call<ReadDocument, { openapi: string; info: { version: string } }>('GET', '/openapi.json', {
        signal,
      }).then(({ info, openapi }) => ({ api: info.version, openapi })),
  });
  return (
    <Loaded query={document} lines={1}>
      {({ api, openapi }) => (
        <dl className="card facts">
          <dt>{texts.version}</dt>
          <dd>{api}</dd>
          <dt>{texts.openapi}</dt>
          <dd>{openapi}</dd>
        </dl>
      )}
    </Loaded>
  );
}
