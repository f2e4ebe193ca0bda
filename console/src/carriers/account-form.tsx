import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import type { Account, ChangeAccountData, CreateAccountData } from '../api/types.gen';
import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { Choice, Field, Select, TextArea } from '../design/field';
import { ErrorState } from '../design/states';
import { useTyped } from '../design/use-typed';
import { fill } from '../format';
import { TEXTS } from '../texts';
import { KINDS, type Kind, membersOf } from './account-kinds';

const { carriers: texts } = TEXTS;

/** The kinds whose calls Fanfare counts. */
const VENDOR_KINDS: readonly Kind[] = ['twilio', 'telnyx', 'vonage'];

/** Makes an account, or changes one; secrets are written and never read. */
export function AccountForm({ account, onClose }: { account?: Account; onClose(): void }) {
  const place = `account.${account?.id ?? 'new'}`;
  const [kind, setKind] = useTyped<Kind>(`${place}.kind`, account?.kind ?? 'twilio');
  const [name, setName] = useTyped(`${place}.name`, account?.name ?? '');
  const [rate, setRate] = useTyped(
    `${place}.rate`,
    account?.ratePerSecond === undefined ? '' : String(account.ratePerSecond),
  );
  const { maxConcurrentCalls } = account ?? {};
  const [calls, setCalls] = useTyped(
    `${place}.calls`,
    maxConcurrentCalls === undefined ? '' : String(maxConcurrentCalls),
  );
  const [channels, setChannels] = useTyped<readonly string[]>(
    `${place}.channels`,
    account?.channels ?? KINDS[kind].channels,
  );
  const [settings, setSettings] = useTyped<Readonly<Record<string, string>>>(
    `${place}.settings`,
    Object.fromEntries(Object.entries(account?.settings ?? {}).map(([key, value]) => [key, String(value)])),
  );
  const [secrets, setSecrets] = useState<Readonly<Record<string, string>>>({});
  const queries = useQueryClient();
  const { channels: offered, settings: knownSettings, secrets: knownSecrets } = KINDS[kind];
  const makesCalls = VENDOR_KINDS.includes(kind);
  const save = useMutation({
    mutationFn: () => {
      const body = {
        name,
        ...(offered.length > 1 && { channels }),
        ratePerSecond: rate === '' ? null : Number(rate),
        ...(makesCalls && { maxConcurrentCalls: calls === '' ? null : Number(calls) }),
        settings: membersOf(knownSettings, settings),
        secrets: membersOf(knownSecrets, secrets),
      };
      return account
        ? call<ChangeAccountData, unknown>('PATCH', '/api/admin/accounts/{id}', {
            path: { id: account.id },
            body: body as ChangeAccountData['body'],
          })
        : call<CreateAccountData, unknown>('POST', '/api/admin/accounts', {
            body: { ...body, kind } as unknown as CreateAccountData['body'],
          });
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['accounts'] });
      onClose();
    },
  });
  const choose = (chosen: Kind) => {
    setKind(chosen);
    setChannels(KINDS[chosen].channels);
  };
  return (
    <Dialog
      wide
      title={account ? fill(texts.editAccount, { name: account.name }) : texts.newAccount}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{TEXTS.common.cancel}</Button>
          <Button kind="primary" type="submit" form="account" busy={save.isPending}>
            {account ? TEXTS.common.save : TEXTS.common.create}
          </Button>
        </>
      }
    >
      <form
        id="account"
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <div className="columns">
          {!account && (
            <Select label={texts.kind} value={kind} onChange={({ target }) => choose(target.value as Kind)}>
              {(Object.keys(KINDS) as Kind[]).map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </Select>
          )}
          <Field
            label={texts.name}
            value={name}
            required
            wrong={findingAt(save.error, 'name')}
            onChange={({ target }) => setName(target.value)}
          />
          <Field
            label={texts.rate}
            hint={texts.rateHint}
            type="number"
            min={0}
            step="any"
            value={rate}
            wrong={findingAt(save.error, 'ratePerSecond')}
            onChange={({ target }) => setRate(target.value)}
          />
          {makesCalls && (
            <Field
              label={texts.calls}
              hint={texts.callsHint}
              type="number"
              min={1}
              step={1}
              value={calls}
              wrong={findingAt(save.error, 'maxConcurrentCalls')}
              onChange={({ target }) => setCalls(target.value)}
            />
          )}
        </div>
        {offered.length > 1 && (
          <fieldset className="fieldset">
            <legend>{texts.channels}</legend>
            <div className="row">
              {offered.map((channel) => (
                <Choice
                  key={channel}
                  label={TEXTS.channels[channel]}
                  checked={channels.includes(channel)}
                  onChange={({ target }) =>
                    setChannels(
                      target.checked ? [...channels, channel] : channels.filter((one) => one !== channel),
                    )
                  }
                />
              ))}
            </div>
          </fieldset>
        )}
        <Members
          legend={texts.settings}
          path="settings"
          members={knownSettings}
          typed={settings}
          error={save.error}
          onChange={setSettings}
        />
        <Members
          legend={texts.secrets}
          path="secrets"
          members={knownSecrets}
          typed={secrets}
          known={account?.secrets}
          error={save.error}
          onChange={setSecrets}
        />
      </form>
      {save.error && <ErrorState error={save.error} />}
    </Dialog>
  );
}

interface MembersProps {
  legend: string;
  path: 'settings' | 'secrets';
  members: (typeof KINDS)[Kind]['settings'];
  typed: Readonly<Record<string, string>>;
  /** Secrets that are set: an empty field keeps them. */
  known?: readonly string[] | undefined;
  error: unknown;
  onChange(typed: Readonly<Record<string, string>>): void;
}

function Members({ legend, path, members, typed, known, error, onChange }: MembersProps) {
  if (members.length === 0) return null;
  return (
    <fieldset className="fieldset stack tight">
      <legend>{legend}</legend>
      <div className="columns">
        {members.map(({ name, how, isRequired }) => {
          const isKept = known?.includes(name) ?? false;
          const shared = {
            label: name,
            value: typed[name] ?? '',
            required: isRequired && !isKept,
            hint: isKept ? texts.kept : how === 'headers' ? texts.headersHint : undefined,
            wrong: findingAt(error, `${path}.${name}`),
            onChange: ({ target }: { target: { value: string } }) =>
              onChange({ ...typed, [name]: target.value }),
          };
          if (how === 'switch')
            return (
              <Choice
                key={name}
                label={name}
                checked={typed[name] === 'true'}
                onChange={({ target }) => onChange({ ...typed, [name]: String(target.checked) })}
              />
            );
          if (how === 'lines' || how === 'headers') return <TextArea key={name} {...shared} rows={3} />;
          const type = path === 'secrets' ? 'password' : how === 'number' ? 'number' : 'text';
          return <Field key={name} {...shared} type={type} autoComplete="off" />;
        })}
      </div>
    </fieldset>
  );
}
