import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import { isProblem } from '../api/problem';
import { sessionQuery } from '../api/session';
import type {
  ChangeOwnPasswordData,
  EndOwnSessionData,
  ListOwnSessionsData,
  ListOwnSessionsResponse,
} from '../api/types.gen';
import { Badge } from '../design/badge';
import { Button } from '../design/button';
import { Field } from '../design/field';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { ErrorState, messageOf } from '../design/states';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { useToast } from '../design/toast';
import { fill } from '../format';
import { TEXTS } from '../texts';
import { SecondFactor } from './second-factor';

const { account: texts } = TEXTS;

/** A person's own log-in. */
export function AccountPage() {
  const { data: user } = useQuery(sessionQuery);
  return (
    <Page
      title={TEXTS.nav.account}
      lead={user && fill(texts.lead, { email: user.email, role: user.role, workspace: user.workspace.name })}
    >
      <Password />
      <SecondFactor />
      <Sessions />
    </Page>
  );
}

function Password() {
  const [typed, setTyped] = useState({ current: '', new: '' });
  const queries = useQueryClient();
  const say = useToast();
  const change = useMutation({
    mutationFn: () => call<ChangeOwnPasswordData, unknown>('PUT', '/api/session/password', { body: typed }),
    onSuccess: async () => {
      say(texts.passwordChanged);
      setTyped({ current: '', new: '' });
      await queries.invalidateQueries({ queryKey: ['sessions'] });
    },
  });
  const isWrong = isProblem(change.error, 403);
  const wrongNew = findingAt(change.error, 'new');
  return (
    <section className="card stack form" aria-label={texts.password}>
      <h2>{texts.password}</h2>
      <p className="muted">{texts.passwordText}</p>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        <Field
          label={texts.current}
          type="password"
          autoComplete="current-password"
          required
          value={typed.current}
          wrong={isWrong ? texts.wrongPassword : undefined}
          onChange={({ target }) => setTyped({ ...typed, current: target.value })}
        />
        <Field
          label={texts.new}
          type="password"
          autoComplete="new-password"
          minLength={12}
          required
          value={typed.new}
          hint={texts.newHint}
          wrong={wrongNew}
          onChange={({ target }) => setTyped({ ...typed, new: target.value })}
        />
        {change.error && !isWrong && !wrongNew && <ErrorState error={change.error} />}
        <div>
          <Button kind="primary" type="submit" busy={change.isPending}>
            {texts.changePassword}
          </Button>
        </div>
      </form>
    </section>
  );
}

function Sessions() {
  const queries = useQueryClient();
  const say = useToast();
  const sessions = useQuery({
    queryKey: ['sessions'],
    queryFn: ({ signal }) =>
      call<ListOwnSessionsData, ListOwnSessionsResponse>('GET', '/api/sessions', { signal }).then(
        ({ data }) => data,
      ),
  });
  const end = useMutation({
    mutationFn: (id: string) =>
      call<EndOwnSessionData, unknown>('DELETE', '/api/sessions/{id}', { path: { id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['sessions'] }),
    onError: (error) => say(messageOf(error), { bad: true }),
  });
  return (
    <section className="stack" aria-label={texts.sessions}>
      <h2>{texts.sessions}</h2>
      <p className="muted">{texts.sessionsText}</p>
      <Loaded query={sessions}>
        {(rows) => (
          <Table
            caption={texts.sessions}
            rows={rows}
            keyOf={({ id }) => id}
            columns={[
              {
                key: 'browser',
                head: texts.browser,
                cell: ({ userAgent, current }) => (
                  <>
                    {userAgent ?? texts.unknownBrowser} {current && <Badge tone="ok">{texts.thisOne}</Badge>}
                  </>
                ),
              },
              { key: 'address', head: texts.address, cell: ({ address }) => address ?? '–' },
              { key: 'since', head: texts.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
              { key: 'seen', head: texts.seen, cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
              {
                key: 'actions',
                head: TEXTS.common.actions,
                cell: ({ id, current, userAgent }) =>
                  current ? null : (
                    <Button small kind="quiet" onClick={() => end.mutate(id)}>
                      {texts.end}
                      <span className="only-heard">: {userAgent}</span>
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </Loaded>
    </section>
  );
}
