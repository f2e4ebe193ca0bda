import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import { useOnceKey } from '../api/once-key';
import type {
  ApiKey,
  CreateApiKeyData,
  CreateApiKeyResponse,
  ListApiKeysData,
  ListApiKeysResponse,
  RevokeApiKeyData,
} from '../api/types.gen';
import { Badge } from '../design/badge';
import { Button } from '../design/button';
import { Confirm } from '../design/confirm';
import { Field } from '../design/field';
import { Loaded } from '../design/loaded';
import { Paging } from '../design/paging';
import { SecretDialog } from '../design/secret';
import { EmptyState } from '../design/states';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { useTyped } from '../design/use-typed';
import { fill } from '../format';
import { TEXTS } from '../texts';
import { ScopesField, scopesOf } from './scopes-field';

const { access: texts } = TEXTS;
const LIMIT = 50;

/** Keys that programs need beside their token to send single messages. */
export function Keys() {
  const [page, setPage] = useState(1);
  const [asked, setAsked] = useState<'new' | ApiKey>();
  const list = useQuery({
    queryKey: ['keys', page],
    queryFn: ({ signal }) =>
      call<ListApiKeysData, ListApiKeysResponse>('GET', '/api/admin/api-keys', {
        query: { page, limit: LIMIT },
        signal,
      }),
  });
  return (
    <div className="stack">
      <div>
        <Button kind="primary" onClick={() => setAsked('new')}>
          {texts.newKey}
        </Button>
      </div>
      <Loaded query={list}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <EmptyState title={texts.noKeys}>{texts.noKeysText}</EmptyState>
          ) : (
            <>
              <KeyTable keys={data} onRevoke={setAsked} />
              <Paging {...pagination} onPage={setPage} />
            </>
          )
        }
      </Loaded>
      {asked === 'new' && <NewKey onClose={() => setAsked(undefined)} />}
      {asked !== undefined && asked !== 'new' && (
        <Revoke apiKey={asked} onClose={() => setAsked(undefined)} />
      )}
    </div>
  );
}

function KeyTable({ keys, onRevoke }: { keys: ApiKey[]; onRevoke(key: ApiKey): void }) {
  return (
    <Table
      caption={texts.keys}
      rows={keys}
      keyOf={({ id }) => id}
      columns={[
        { key: 'name', head: texts.name, cell: ({ name }) => name },
        { key: 'prefix', head: texts.prefix, cell: ({ prefix }) => <code>{prefix}…</code> },
        { key: 'scopes', head: texts.mayDo, cell: (one) => scopesOf(one) },
        {
          key: 'state',
          head: texts.state,
          cell: ({ revokedAt }) => (
            <Badge tone={revokedAt ? 'idle' : 'ok'}>{revokedAt ? texts.revoked : texts.active}</Badge>
          ),
        },
        {
          key: 'since',
          head: TEXTS.common.created,
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        {
          key: 'actions',
          head: TEXTS.common.actions,
          cell: (key) =>
            key.revokedAt ? null : (
              <Button small kind="quiet" onClick={() => onRevoke(key)}>
                {texts.revoke}
                <span className="only-heard">: {key.name}</span>
              </Button>
            ),
        },
      ]}
    />
  );
}

function NewKey({ onClose }: { onClose(): void }) {
  const [name, setName] = useTyped('key.name', '');
  const [scopes, setScopes] = useTyped<readonly string[] | undefined>('key.scopes', undefined);
  const queries = useQueryClient();
  const once = useOnceKey();
  const creation = useMutation({
    mutationFn: () => {
      const body = { name, ...(scopes && { scopes }) } as CreateApiKeyData['body'];
      return call<CreateApiKeyData, CreateApiKeyResponse>('POST', '/api/admin/api-keys', {
        body,
        idempotencyKey: once.keyOf(body),
      });
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['keys'] }),
  });
  if (creation.data) {
    const { key } = creation.data.data;
    return (
      <SecretDialog
        title={texts.keyTitle}
        text={texts.secretText}
        values={[{ label: texts.key, value: key }]}
        onClose={onClose}
      />
    );
  }
  return (
    <Confirm
      title={texts.newKey}
      confirm={TEXTS.common.create}
      busy={creation.isPending}
      error={creation.error}
      onConfirm={() => creation.mutate()}
      onClose={onClose}
    >
      <Field
        label={texts.name}
        value={name}
        wrong={findingAt(creation.error, 'name')}
        onChange={({ target }) => setName(target.value)}
      />
      <ScopesField scopes={scopes} onChange={setScopes} />
    </Confirm>
  );
}

function Revoke({ apiKey: { id, name }, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const queries = useQueryClient();
  const revocation = useMutation({
    mutationFn: () => call<RevokeApiKeyData, unknown>('DELETE', '/api/admin/api-keys/{id}', { path: { id } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['keys'] });
      onClose();
    },
  });
  return (
    <Confirm
      danger
      title={fill(texts.revokeTitle, { name })}
      confirm={texts.revoke}
      busy={revocation.isPending}
      error={revocation.error}
      onConfirm={() => revocation.mutate()}
      onClose={onClose}
    >
      <p>{texts.revokeText}</p>
    </Confirm>
  );
}
