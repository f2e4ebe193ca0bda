import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import { useOnceKey } from '../api/once-key';
import type {
  Client,
  CreateClientData,
  CreateClientResponse,
  DisableClientData,
  EnableClientData,
  ListClientsData,
  ListClientsResponse,
  RotateSecretData,
  RotateSecretResponse,
} from '../api/types.gen';
import { Button } from '../design/button';
import { Confirm } from '../design/confirm';
import { Choice, Field } from '../design/field';
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
import { State } from './users';

const { access: texts } = TEXTS;
const LIMIT = 50;

type Asked = { what: 'new' } | { what: 'rotate' | 'toggle'; client: Client };

/** Programs that sign in with an id and a secret. */
export function Clients() {
  const [page, setPage] = useState(1);
  const [asked, setAsked] = useState<Asked>();
  const list = useQuery({
    queryKey: ['clients', page],
    queryFn: ({ signal }) =>
      call<ListClientsData, ListClientsResponse>('GET', '/api/admin/clients', {
        query: { page, limit: LIMIT },
        signal,
      }),
  });
  return (
    <div className="stack">
      <div>
        <Button kind="primary" onClick={() => setAsked({ what: 'new' })}>
          {texts.newClient}
        </Button>
      </div>
      <Loaded query={list}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <EmptyState title={texts.noClients}>{texts.noClientsText}</EmptyState>
          ) : (
            <>
              <Table
                caption={texts.clients}
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  { key: 'name', head: texts.name, cell: ({ name }) => name },
                  { key: 'id', head: texts.id, cell: ({ id }) => <code>{id}</code> },
                  { key: 'scopes', head: texts.mayDo, cell: (one) => scopesOf(one) },
                  {
                    key: 'state',
                    head: texts.state,
                    cell: ({ disabledAt }) => <State disabledAt={disabledAt} />,
                  },
                  {
                    key: 'old',
                    head: texts.oldSecret,
                    cell: ({ oldSecretValidTill }) =>
                      oldSecretValidTill ? <Time at={oldSecretValidTill} /> : '–',
                  },
                  {
                    key: 'actions',
                    head: TEXTS.common.actions,
                    cell: (client) => <Actions client={client} onAsk={setAsked} />,
                  },
                ]}
              />
              <Paging {...pagination} onPage={setPage} />
            </>
          )
        }
      </Loaded>
      {asked && <Change asked={asked} onClose={() => setAsked(undefined)} />}
    </div>
  );
}

function Actions({ client, onAsk }: { client: Client; onAsk(asked: Asked): void }) {
  return (
    <span className="row">
      {(['rotate', 'toggle'] as const).map((what) => (
        <Button key={what} small kind="quiet" onClick={() => onAsk({ what, client })}>
          {what === 'rotate' ? texts.rotate : client.disabledAt ? texts.enable : texts.disable}
          <span className="only-heard">: {client.name}</span>
        </Button>
      ))}
    </span>
  );
}

function Change({ asked, onClose }: { asked: Asked; onClose(): void }) {
  const [name, setName] = useTyped(`client.${asked.what}.name`, '');
  const [scopes, setScopes] = useTyped<readonly string[] | undefined>(
    `client.${asked.what}.scopes`,
    undefined,
  );
  const [overlap, setOverlap] = useState('24');
  const [isRevoking, setRevoking] = useState(false);
  const change = useChange(asked, onClose);
  const confirm = () => change.mutate({ name, scopes, overlap, isRevoking });
  if (change.data) {
    const { id, secret } = change.data;
    return (
      <SecretDialog
        title={texts.secretTitle}
        text={texts.secretText}
        values={[
          { label: texts.clientId, value: id },
          { label: texts.secret, value: secret },
        ]}
        onClose={onClose}
      />
    );
  }
  const shared = { busy: change.isPending, error: change.error, onConfirm: confirm, onClose };
  if (asked.what === 'new')
    return (
      <Confirm title={texts.newClient} confirm={TEXTS.common.create} {...shared}>
        <Field
          label={texts.name}
          value={name}
          wrong={findingAt(change.error, 'name')}
          onChange={({ target }) => setName(target.value)}
        />
        <ScopesField scopes={scopes} onChange={setScopes} />
      </Confirm>
    );
  const { name: known, disabledAt } = asked.client;
  if (asked.what === 'rotate')
    return (
      <Confirm title={fill(texts.rotateTitle, { name: known })} confirm={texts.rotate} {...shared}>
        <Field
          label={texts.overlap}
          hint={texts.overlapHint}
          type="number"
          min={0}
          value={overlap}
          wrong={findingAt(change.error, 'overlapHours')}
          onChange={({ target }) => setOverlap(target.value)}
        />
        <Choice
          label={texts.revokeTokens}
          checked={isRevoking}
          onChange={({ target }) => setRevoking(target.checked)}
        />
      </Confirm>
    );
  return (
    <Confirm
      title={fill(disabledAt ? texts.enableTitle : texts.disableTitle, { email: known })}
      confirm={disabledAt ? texts.enable : texts.disable}
      danger={!disabledAt}
      {...shared}
    >
      <p>{disabledAt ? texts.enableClientText : texts.disableClientText}</p>
    </Confirm>
  );
}

interface Typed {
  name: string;
  scopes: readonly string[] | undefined;
  overlap: string;
  isRevoking: boolean;
}

/** Answers with the secret where one was made. */
function useChange(asked: Asked, onClose: () => void) {
  const queries = useQueryClient();
  const once = useOnceKey();
  return useMutation({
    mutationFn: async (typed: Typed): Promise<{ id: string; secret: string } | undefined> => {
      if (asked.what === 'new') {
        const { name, scopes } = typed;
        const body = { name, ...(scopes && { scopes }) } as CreateClientData['body'];
        const given = { body, idempotencyKey: once.keyOf(body) };
        return (await call<CreateClientData, CreateClientResponse>('POST', '/api/admin/clients', given)).data;
      }
      const path = { id: asked.client.id };
      if (asked.what === 'rotate') {
        const body = { overlapHours: Number(typed.overlap), revokeTokens: typed.isRevoking };
        const given = { path, body };
        return (
          await call<RotateSecretData, RotateSecretResponse>('POST', '/api/admin/clients/{id}/rotate', given)
        ).data;
      }
      if (asked.client.disabledAt)
        await call<EnableClientData, unknown>('POST', '/api/admin/clients/{id}/enable', { path });
      else await call<DisableClientData, unknown>('POST', '/api/admin/clients/{id}/disable', { path });
      return undefined;
    },
    onSuccess: async (secret) => {
      await queries.invalidateQueries({ queryKey: ['clients'] });
      if (secret === undefined) onClose();
    },
  });
}
