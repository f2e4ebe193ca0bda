import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import type {
  GetRoutesData,
  GetRoutesResponse,
  ListAccountsData,
  ListAccountsResponse,
  PutRoutesData,
  PutRoutesResponse,
  Route,
} from '../api/types.gen';
import { Button } from '../design/button';
import { Conflict } from '../design/conflict';
import { Choice, Field, Select } from '../design/field';
import { useKeptDraft } from '../design/kept-draft';
import { Loaded } from '../design/loaded';
import { EmptyState, ErrorState } from '../design/states';
import { useToast } from '../design/toast';
import { fill } from '../format';
import { TEXTS } from '../texts';

const { carriers: texts, channels } = TEXTS;
const CHANNELS = ['email', 'sms', 'voice'] as const;

/** Rules that choose an account, in their order: the first that matches decides. */
export function Routes() {
  const routes = useQuery(routesQuery);
  return (
    <Loaded query={routes}>{(known) => <RoutesForm known={known} readAt={routes.dataUpdatedAt} />}</Loaded>
  );
}

const routesQuery = queryOptions({
  queryKey: ['routes'],
  queryFn: ({ signal }) =>
    call<GetRoutesData, GetRoutesResponse>('GET', '/api/admin/routes', { signal }).then(
      ({ data }) => data.routes,
    ),
});

/** Routes have no versions: of two that differ, the one that was read later is the newer. */
function RoutesForm({ known, readAt }: { known: readonly Route[]; readAt: number }) {
  const kept = useKeptDraft('routes', readAt, known);
  const { draft: routes, setDraft: setRoutes } = kept;
  const names = useAccountNames();
  const save = useSave(kept);
  const move = (at: number, by: -1 | 1) => {
    const next = [...routes];
    next.splice(at + by, 0, ...next.splice(at, 1));
    setRoutes(next);
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(routes);
      }}
    >
      <p className="muted">{texts.routesText}</p>
      {routes.length === 0 && <EmptyState title={texts.noRoutes}>{texts.noRoutesText}</EmptyState>}
      {routes.map((route, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a route is its place in the order
        <section key={at} className="card stack tight" aria-label={fill(texts.route, { n: at + 1 })}>
          <div className="row spread">
            <h2>{fill(texts.route, { n: at + 1 })}</h2>
            <span className="row">
              <Button small kind="quiet" unavailable={at === 0} onClick={() => move(at, -1)}>
                {texts.up}
              </Button>
              <Button small kind="quiet" unavailable={at === routes.length - 1} onClick={() => move(at, 1)}>
                {texts.down}
              </Button>
              <Button small kind="quiet" onClick={() => setRoutes(routes.filter((_, i) => i !== at))}>
                {TEXTS.common.remove}
              </Button>
            </span>
          </div>
          <RouteFields
            route={route}
            names={names}
            wrong={findingAt(save.error, `routes.${at}`)}
            onChange={(changed) => setRoutes(routes.map((one, i) => (i === at ? changed : one)))}
          />
        </section>
      ))}
      {kept.isBehind && (
        <Conflict
          text={texts.routesMeanwhile}
          before={textOf(kept.from)}
          after={textOf(known)}
          onKeep={kept.keepMine}
          onTake={kept.discard}
        />
      )}
      {save.error && <ErrorState error={save.error} />}
      <div className="row">
        <Button onClick={() => setRoutes([...routes, { channel: 'sms', accounts: [] }])}>
          {texts.addRoute}
        </Button>
        <Button kind="primary" type="submit" busy={save.isPending} unavailable={kept.isBehind}>
          {texts.saveRoutes}
        </Button>
      </div>
    </form>
  );
}

function useAccountNames(): ReadonlyMap<string, string> {
  const accounts = useQuery({
    queryKey: ['accounts'],
    queryFn: ({ signal }) =>
      call<ListAccountsData, ListAccountsResponse>('GET', '/api/admin/accounts', { signal }).then(
        ({ data }) => data,
      ),
  });
  return new Map((accounts.data ?? []).map(({ id, name }) => [id, name]));
}

function useSave(kept: ReturnType<typeof useKeptDraft<readonly Route[]>>) {
  const queries = useQueryClient();
  const say = useToast();
  return useMutation({
    mutationFn: async (sent: readonly Route[]) => {
      // The API takes the last one that comes, so that the form looks first whether it knows the newest.
      const newest = await queries.fetchQuery({ ...routesQuery, staleTime: 0 });
      if (textOf(newest) !== textOf(kept.from)) {
        // Also where it is what is sent: the answer to an earlier press was lost.
        return textOf(newest) === textOf(sent.map(cleaned)) ? newest : undefined;
      }
      const { data } = await call<PutRoutesData, PutRoutesResponse>('PUT', '/api/admin/routes', {
        body: { routes: sent.map(cleaned) },
      });
      return data.routes;
    },
    onSuccess: (saved, sent) => {
      if (!saved) return;
      say(texts.routesSaved);
      kept.saved(sent, { version: Date.now(), content: saved });
      queries.setQueryData(['routes'], saved);
    },
  });
}

interface RouteFieldsProps {
  route: Route;
  names: ReadonlyMap<string, string>;
  wrong: string | undefined;
  onChange(route: Route): void;
}

function RouteFields({ route, names, wrong, onChange }: RouteFieldsProps) {
  const set = (changed: Partial<Route>) => onChange({ ...route, ...changed });
  return (
    <>
      {wrong && <p className="tone-bad small">{wrong}</p>}
      <div className="columns">
        <Select
          label={texts.channel}
          value={route.channel}
          onChange={({ target }) => set({ channel: target.value as Route['channel'] })}
        >
          {CHANNELS.map((one) => (
            <option key={one} value={one}>
              {channels[one]}
            </option>
          ))}
        </Select>
        <Field
          label={texts.sender}
          hint={texts.senderHint}
          value={route.sender ?? ''}
          onChange={({ target }) => set({ sender: target.value })}
        />
        {route.channel !== 'email' && (
          <Field
            label={texts.toPrefix}
            hint={texts.toPrefixHint}
            value={route.toPrefix ?? ''}
            onChange={({ target }) => set({ toPrefix: target.value })}
          />
        )}
        <Field
          label={texts.workspace}
          hint={texts.anyHint}
          value={route.workspace ?? ''}
          onChange={({ target }) => set({ workspace: target.value })}
        />
        <Select
          label={texts.class}
          value={route.class ?? ''}
          onChange={({ target: { value } }) =>
            set({ class: value === 'marketing' || value === 'transactional' ? value : undefined })
          }
        >
          <option value="">{texts.anyClass}</option>
          <option value="marketing">{texts.classes.marketing}</option>
          <option value="transactional">{texts.classes.transactional}</option>
        </Select>
      </div>
      <RouteAccounts
        accounts={route.accounts}
        names={names}
        onChange={(changed) => set({ accounts: changed })}
      />
      <Choice
        label={texts.failover}
        hint={texts.failoverText}
        checked={route.failover ?? false}
        onChange={({ target }) => set({ failover: target.checked })}
      />
    </>
  );
}

interface RouteAccountsProps {
  accounts: Route['accounts'];
  names: ReadonlyMap<string, string>;
  onChange(accounts: Route['accounts']): void;
}

function RouteAccounts({ accounts, names, onChange }: RouteAccountsProps) {
  const free = [...names].filter(([id]) => !accounts.some(({ account }) => account === id));
  return (
    <fieldset className="fieldset stack tight">
      <legend>{texts.accounts}</legend>
      {accounts.map(({ account, weight }, at) => (
        <div key={account} className="row end">
          <span className="leads">{names.get(account) ?? account}</span>
          <Field
            label={fill(texts.weight, { name: names.get(account) ?? account })}
            type="number"
            min={0}
            value={weight ?? ''}
            onChange={({ target: { value } }) =>
              onChange(
                accounts.map((one, i) =>
                  i === at ? { account, ...(value === '' ? {} : { weight: Number(value) }) } : one,
                ),
              )
            }
          />
          <Button
            small
            kind="quiet"
            onClick={() => onChange(accounts.filter((one) => one.account !== account))}
          >
            {TEXTS.common.remove}
            <span className="only-heard">: {names.get(account) ?? account}</span>
          </Button>
        </div>
      ))}
      {free.length > 0 && (
        <Select
          label={texts.addAccount}
          value=""
          onChange={({ target }) => target.value && onChange([...accounts, { account: target.value }])}
        >
          <option value="">{texts.chooseAccount}</option>
          {free.map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Select>
      )}
    </fieldset>
  );
}

/** A line for each route. */
const textOf = (routes: readonly Route[]): string => routes.map((one) => JSON.stringify(one)).join('\n');

/** Fields that are empty are left out, because a route matches by those that are given. */
function cleaned({ channel, accounts, failover, sender, toPrefix, workspace, class: of }: Route): Route {
  return {
    channel,
    accounts,
    ...(failover && { failover }),
    ...(sender && { sender }),
    ...(toPrefix && channel !== 'email' && { toPrefix }),
    ...(workspace && { workspace }),
    ...(of && { class: of }),
  };
}
