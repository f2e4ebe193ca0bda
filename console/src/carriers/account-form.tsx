import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import { useOnceKey } from '../api/once-key';
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
  const typed = useTypedAccount(account);
  const { kind, name, channels, settings, secrets, offers } = typed;
  const save = useSave(account, onClose);
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
          save.mutate(typed.body());
        }}
      >
        <div className="columns">
          {!account && <KindSelect kind={kind} onChoose={typed.choose} />}
          <Field
            label={texts.name}
            value={name}
            required
            wrong={findingAt(save.error, 'name')}
            onChange={({ target }) => typed.setName(target.value)}
          />
          <Limits typed={typed} error={save.error} />
        </div>
        {offers.channels.length > 1 && (
          <Channels offered={offers.channels} channels={channels} onChange={typed.setChannels} />
        )}
        <Members
          legend={texts.settings}
          path="settings"
          members={offers.settings}
          typed={settings}
          error={save.error}
          onChange={typed.setSettings}
        />
        <Members
          legend={texts.secrets}
          path="secrets"
          members={offers.secrets}
          typed={secrets}
          known={account?.secrets}
          error={save.error}
          onChange={typed.setSecrets}
        />
      </form>
      {save.error && <ErrorState error={save.error} />}
    </Dialog>
  );
}

const NUMBER = { type: 'number', min: 0, step: 'any' };
const WHOLE = { type: 'number', min: 1, step: 1 };

function useTypedAccount(account: Account | undefined) {
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
  const offers = KINDS[kind];
  const makesCalls = VENDOR_KINDS.includes(kind);
  const choose = (chosen: Kind) => {
    setKind(chosen);
    setChannels(KINDS[chosen].channels);
  };
  const body = () => ({
    ...(account ? {} : { kind }),
    name,
    ...(offers.channels.length > 1 && { channels }),
    ratePerSecond: rate === '' ? null : Number(rate),
    ...(makesCalls && { maxConcurrentCalls: calls === '' ? null : Number(calls) }),
    settings: membersOf(offers.settings, settings),
    secrets: membersOf(offers.secrets, secrets),
  });
  return {
    ...{ kind, name, rate, calls, channels, settings, secrets, offers, makesCalls, body },
    ...{ choose, setName, setRate, setCalls, setChannels, setSettings, setSecrets },
  };
}

function useSave(account: Account | undefined, onClose: () => void) {
  const queries = useQueryClient();
  const once = useOnceKey();
  return useMutation({
    mutationFn: (body: object) => {
      return account
        ? call<ChangeAccountData, unknown>('PATCH', '/api/admin/accounts/{id}', {
            path: { id: account.id },
            body: body as ChangeAccountData['body'],
          })
        : call<CreateAccountData, unknown>('POST', '/api/admin/accounts', {
            body: body as unknown as CreateAccountData['body'],
            idempotencyKey: once.keyOf(body),
          });
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['accounts'] });
      onClose();
    },
  });
}

function KindSelect({ kind, onChoose }: { kind: Kind; onChoose(kind: Kind): void }) {
  return (
    <Select label={texts.kind} value={kind} onChange={({ target }) => onChoose(target.value as Kind)}>
      {(Object.keys(KINDS) as Kind[]).map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </Select>
  );
}

interface LimitsProps {
  typed: ReturnType<typeof useTypedAccount>;
  error: unknown;
}

function Limits({ typed: { rate, calls, makesCalls, setRate, setCalls }, error }: LimitsProps) {
  return (
    <>
      <Field
        label={texts.rate}
        hint={texts.rateHint}
        {...NUMBER}
        value={rate}
        wrong={findingAt(error, 'ratePerSecond')}
        onChange={({ target }) => setRate(target.value)}
      />
      {makesCalls && (
        <Field
          label={texts.calls}
          hint={texts.callsHint}
          {...WHOLE}
          value={calls}
          wrong={findingAt(error, 'maxConcurrentCalls')}
          onChange={({ target }) => setCalls(target.value)}
        />
      )}
    </>
  );
}

interface ChannelsProps {
  offered: (typeof KINDS)[Kind]['channels'];
  channels: readonly string[];
  onChange(channels: readonly string[]): void;
}

function Channels({ offered, channels, onChange }: ChannelsProps) {
  return (
    <fieldset className="fieldset">
      <legend>{texts.channels}</legend>
      <div className="row">
        {offered.map((channel) => (
          <Choice
            key={channel}
            label={TEXTS.channels[channel]}
            checked={channels.includes(channel)}
            onChange={({ target }) =>
              onChange(target.checked ? [...channels, channel] : channels.filter((one) => one !== channel))
            }
          />
        ))}
      </div>
    </fieldset>
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
