import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client';
import type {
  Account,
  ChangeAccountData,
  CheckAccountData,
  CheckAccountResponse,
  DeleteAccountData,
  ListAccountsData,
  ListAccountsResponse,
} from '../api/types.gen';
import { Badge } from '../design/badge';
import { Button } from '../design/button';
import { Confirm } from '../design/confirm';
import { Loaded } from '../design/loaded';
import { EmptyState, messageOf } from '../design/states';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { useToast } from '../design/toast';
import { fill } from '../format';
import { TEXTS } from '../texts';
import { AccountForm } from './account-form';

const { carriers: texts, channels } = TEXTS;
const TONES = { ok: 'ok', paused: 'bad', throttled: 'warn' } as const;

type Open = { what: 'new' } | { what: 'edit' | 'toggle' | 'delete'; account: Account };

/** Accounts at carriers, and how each is. */
export function Accounts() {
  const [open, setOpen] = useState<Open>();
  const list = useQuery({
    queryKey: ['accounts'],
    refetchInterval: 5_000,
    queryFn: ({ signal }) =>
      call<ListAccountsData, ListAccountsResponse>('GET', '/api/admin/accounts', { signal }).then(
        ({ data }) => data,
      ),
  });
  const close = () => setOpen(undefined);
  return (
    <div className="stack">
      <div>
        <Button kind="primary" onClick={() => setOpen({ what: 'new' })}>
          {texts.newAccount}
        </Button>
      </div>
      <Loaded query={list}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title={texts.noAccounts}>{texts.noAccountsText}</EmptyState>
          ) : (
            <Table
              caption={texts.accounts}
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                {
                  key: 'name',
                  head: texts.name,
                  cell: ({ name, id }) => (
                    <>
                      {name}
                      <code className="block-code">{id}</code>
                    </>
                  ),
                },
                { key: 'kind', head: texts.kind, cell: ({ kind }) => kind },
                {
                  key: 'channels',
                  head: texts.channels,
                  cell: (account) => account.channels.map((one) => channels[one]).join(', '),
                },
                { key: 'state', head: texts.state, cell: (account) => <State account={account} /> },
                { key: 'since', head: texts.since, cell: ({ since }) => <Time at={since} /> },
                {
                  key: 'actions',
                  head: TEXTS.common.actions,
                  cell: (account) => <Actions account={account} onOpen={setOpen} />,
                },
              ]}
            />
          )
        }
      </Loaded>
      {open?.what === 'new' && <AccountForm onClose={close} />}
      {open?.what === 'edit' && <AccountForm account={open.account} onClose={close} />}
      {(open?.what === 'toggle' || open?.what === 'delete') && (
        <Change what={open.what} account={open.account} onClose={close} />
      )}
    </div>
  );
}

function State({ account: { state, disabled, reason, nextTryAt } }: { account: Account }) {
  if (disabled) return <Badge tone="idle">{texts.disabled}</Badge>;
  return (
    <div className="stack tight">
      <span>
        <Badge tone={TONES[state]}>{texts.states[state]}</Badge>
      </span>
      {reason && <span className="small">{reason}</span>}
      {nextTryAt && (
        <span className="muted small">
          {texts.nextTry} <Time at={nextTryAt} />
        </span>
      )}
    </div>
  );
}

function Actions({ account, onOpen }: { account: Account; onOpen(open: Open): void }) {
  const queries = useQueryClient();
  const say = useToast();
  const check = useMutation({
    mutationFn: () =>
      call<CheckAccountData, CheckAccountResponse>('POST', '/api/admin/accounts/{id}/check', {
        path: { id: account.id },
      }),
    onSuccess: async ({ data: { ok, detail } }) => {
      say(detail, { bad: !ok });
      await queries.invalidateQueries({ queryKey: ['accounts'] });
    },
    onError: (error) => say(messageOf(error), { bad: true }),
  });
  const name = <span className="only-heard">: {account.name}</span>;
  return (
    <span className="row">
      <Button small kind="quiet" busy={check.isPending} onClick={() => check.mutate()}>
        {texts.check}
        {name}
      </Button>
      {account.source === 'environment' ? (
        <span className="muted small">{texts.fromEnvironment}</span>
      ) : (
        (['edit', 'toggle', 'delete'] as const).map((what) => (
          <Button key={what} small kind="quiet" onClick={() => onOpen({ what, account })}>
            {what === 'toggle'
              ? account.disabled
                ? texts.enable
                : texts.disable
              : texts.accountActions[what]}
            {name}
          </Button>
        ))
      )}
    </span>
  );
}

interface ChangeProps {
  what: 'toggle' | 'delete';
  account: Account;
  onClose(): void;
}

function Change({ what, account: { id, name, disabled }, onClose }: ChangeProps) {
  const queries = useQueryClient();
  const path = { id };
  const change = useMutation({
    mutationFn: () =>
      what === 'delete'
        ? call<DeleteAccountData, unknown>('DELETE', '/api/admin/accounts/{id}', { path })
        : call<ChangeAccountData, unknown>('PATCH', '/api/admin/accounts/{id}', {
            path,
            body: { disabled: !disabled },
          }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['accounts'] });
      onClose();
    },
  });
  const isDelete = what === 'delete';
  const verb = isDelete ? TEXTS.common.remove : disabled ? texts.enable : texts.disable;
  return (
    <Confirm
      danger={isDelete || !disabled}
      title={fill(texts.changeTitle, { verb, name })}
      confirm={verb}
      busy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate()}
      onClose={onClose}
    >
      <p>{isDelete ? texts.deleteText : disabled ? texts.enableText : texts.disableText}</p>
    </Confirm>
  );
}
