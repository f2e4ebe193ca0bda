import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import { useOnceKey } from '../api/once-key';
import type {
  ChangeUserData,
  CreateUserData,
  CreateUserResponse,
  DisableUserData,
  EnableUserData,
  ListUsersData,
  ListUsersResponse,
  ResetPasswordData,
  ResetPasswordResponse,
  ResetTotpData,
  User,
} from '../api/types.gen';
import { Badge } from '../design/badge';
import { Button } from '../design/button';
import { Confirm } from '../design/confirm';
import { Field, Select } from '../design/field';
import { Loaded } from '../design/loaded';
import { Paging } from '../design/paging';
import { SearchField } from '../design/search-field';
import { SecretDialog } from '../design/secret';
import { EmptyState } from '../design/states';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { useTyped } from '../design/use-typed';
import { fill } from '../format';
import { TEXTS } from '../texts';

const { access: texts } = TEXTS;
const ROLES = ['owner', 'admin', 'sender', 'editor', 'viewer'] as const;
const LIMIT = 50;

type Asked = { what: 'new' } | { what: 'role' | 'password' | 'toggle' | 'totp'; user: User };

/** The workspace's users, with what an administrator can do about each. */
export function Users() {
  const [page, setPage] = useState(1);
  const [search, setSearch] = useState('');
  const [asked, setAsked] = useState<Asked>();
  const list = useQuery({
    queryKey: ['users', { page, search }],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      call<ListUsersData, ListUsersResponse>('GET', '/api/admin/users', {
        query: { page, limit: LIMIT, search },
        signal,
      }),
  });
  return (
    <div className="stack">
      <div className="row end spread">
        <SearchField
          value={search}
          onSearch={(value) => {
            setSearch(value);
            setPage(1);
          }}
        />
        <Button kind="primary" onClick={() => setAsked({ what: 'new' })}>
          {texts.newUser}
        </Button>
      </div>
      <Loaded query={list}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <EmptyState title={fill(TEXTS.common.nothingFound, { search })}>
              {TEXTS.common.nothingFoundText}
            </EmptyState>
          ) : (
            <>
              <Table
                caption={texts.users}
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  { key: 'email', head: texts.email, cell: ({ email }) => email },
                  { key: 'role', head: texts.role, cell: ({ role }) => roleName(role) },
                  {
                    key: 'state',
                    head: texts.state,
                    cell: ({ disabledAt }) => <State disabledAt={disabledAt} />,
                  },
                  {
                    key: 'since',
                    head: TEXTS.common.created,
                    cell: ({ createdAt }) => <Time at={createdAt} />,
                  },
                  {
                    key: 'actions',
                    head: TEXTS.common.actions,
                    cell: (user) => <Actions user={user} ask={setAsked} />,
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

function Actions({ user, ask }: { user: User; ask(asked: Asked): void }) {
  return (
    <span className="row">
      {(['role', 'password', 'totp', 'toggle'] as const).map((what) => (
        <Button key={what} small kind="quiet" onClick={() => ask({ what, user })}>
          {what === 'toggle' ? (user.disabledAt ? texts.enable : texts.disable) : texts.userActions[what]}
          <span className="only-heard">: {user.email}</span>
        </Button>
      ))}
    </span>
  );
}

export function State({ disabledAt }: { disabledAt: string | null }) {
  return disabledAt === null ? (
    <Badge tone="ok">{texts.active}</Badge>
  ) : (
    <Badge tone="idle">{texts.disabled}</Badge>
  );
}

const roleName = (role: string) => texts.roles[role as keyof typeof texts.roles] ?? role;

function Change({ asked, onClose }: { asked: Asked; onClose(): void }) {
  const user = asked.what === 'new' ? undefined : asked.user;
  const place = `user.${asked.what}.${user?.id ?? 'new'}`;
  const [email, setEmail] = useTyped(`${place}.email`, '');
  const [role, setRole] = useTyped<string>(`${place}.role`, user?.role ?? 'sender');
  const queries = useQueryClient();
  const once = useOnceKey();
  const change = useMutation({
    mutationFn: () => changeOf(asked, { email, role }, once.keyOf),
    onSuccess: async (password) => {
      await queries.invalidateQueries({ queryKey: ['users'] });
      if (password === undefined) onClose();
    },
  });
  if (change.data !== undefined) {
    return (
      <SecretDialog
        title={texts.passwordTitle}
        text={texts.passwordText}
        values={[
          { label: texts.email, value: user?.email ?? email },
          { label: TEXTS.signIn.password, value: change.data },
        ]}
        onClose={onClose}
      />
    );
  }
  const isToggle = asked.what === 'toggle';
  return (
    <Confirm
      title={asked.what === 'new' ? texts.newUser : fill(titleOf(asked), { email: asked.user.email })}
      confirm={
        asked.what === 'new'
          ? TEXTS.common.create
          : isToggle && !user?.disabledAt
            ? texts.disable
            : texts.doIt
      }
      danger={isToggle && !user?.disabledAt}
      busy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate()}
      onClose={onClose}
    >
      {asked.what === 'new' && (
        <Field
          label={texts.email}
          type="email"
          value={email}
          wrong={findingAt(change.error, 'email')}
          onChange={({ target }) => setEmail(target.value)}
        />
      )}
      {(asked.what === 'new' || asked.what === 'role') && (
        <Select label={texts.role} value={role} onChange={({ target }) => setRole(target.value)}>
          {[...new Set([...ROLES, role])].map((one) => (
            <option key={one} value={one}>
              {roleName(one)}
            </option>
          ))}
        </Select>
      )}
      <p className="muted">{texts.userTexts[asked.what]}</p>
    </Confirm>
  );
}

/** Answers with a new password where one was made. */
async function changeOf(
  asked: Asked,
  typed: { email: string; role: string },
  keyOf: (body: unknown) => string,
): Promise<string | undefined> {
  if (asked.what === 'new') {
    const body = typed as CreateUserData['body'];
    const given = { body, idempotencyKey: keyOf(body) };
    const { data } = await call<CreateUserData, CreateUserResponse>('POST', '/api/admin/users', given);
    return data.password;
  }
  const path = { id: asked.user.id };
  if (asked.what === 'role') {
    const body = { role: typed.role } as ChangeUserData['body'];
    await call<ChangeUserData, unknown>('PATCH', '/api/admin/users/{id}', { path, body });
  } else if (asked.what === 'totp') {
    await call<ResetTotpData, unknown>('DELETE', '/api/admin/users/{id}/totp', { path });
  } else if (asked.what === 'toggle') {
    if (asked.user.disabledAt)
      await call<EnableUserData, unknown>('POST', '/api/admin/users/{id}/enable', { path });
    else await call<DisableUserData, unknown>('POST', '/api/admin/users/{id}/disable', { path });
  } else {
    const answer = await call<ResetPasswordData, ResetPasswordResponse>(
      'POST',
      '/api/admin/users/{id}/password',
      { path },
    );
    return answer.data.password;
  }
  return undefined;
}

function titleOf({ what, user }: Extract<Asked, { user: User }>): string {
  if (what === 'toggle') return user.disabledAt ? texts.enableTitle : texts.disableTitle;
  return texts.userTitles[what];
}
