import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import { useOnceKey } from '../api/once-key';
import { sessionQuery } from '../api/session';
import type {
  DeleteSenderData,
  ListSendersData,
  ListSendersResponse,
  RegisteredSender,
  RegisterSenderData,
} from '../api/types.gen';
import { Button } from '../design/button';
import { Confirm } from '../design/confirm';
import { Field, Select, TextArea } from '../design/field';
import { Loaded } from '../design/loaded';
import { EmptyState } from '../design/states';
import { Table } from '../design/table';
import { useTyped } from '../design/use-typed';
import { fill } from '../format';
import { TEXTS } from '../texts';

const { carriers: texts, channels } = TEXTS;
const CHANNELS = ['email', 'sms', 'voice'] as const;

/** Senders that belong to one workspace. */
export function Senders() {
  const [open, setOpen] = useState<'new' | RegisteredSender>();
  const list = useQuery({
    queryKey: ['senders'],
    queryFn: ({ signal }) =>
      call<ListSendersData, ListSendersResponse>('GET', '/api/admin/senders', { signal }).then(
        ({ data }) => data,
      ),
  });
  return (
    <div className="stack">
      <div>
        <Button kind="primary" onClick={() => setOpen('new')}>
          {texts.newSender}
        </Button>
      </div>
      <Loaded query={list}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title={texts.noSenders}>{texts.noSendersText}</EmptyState>
          ) : (
            <Table
              caption={texts.senders}
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { key: 'sender', head: texts.sender, cell: ({ sender }) => sender },
                { key: 'channel', head: texts.channel, cell: ({ channel }) => channels[channel] },
                {
                  key: 'workspace',
                  head: texts.workspace,
                  cell: ({ workspace }) => <code>{workspace}</code>,
                },
                { key: 'dkim', head: texts.dkim, cell: ({ dkim }) => dkim?.selector ?? '–' },
                {
                  key: 'actions',
                  head: TEXTS.common.actions,
                  cell: (one) => (
                    <Button small kind="quiet" onClick={() => setOpen(one)}>
                      {TEXTS.common.remove}
                      <span className="only-heard">: {one.sender}</span>
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {open === 'new' && <NewSender onClose={() => setOpen(undefined)} />}
      {open !== undefined && open !== 'new' && (
        <DeleteSender sender={open} onClose={() => setOpen(undefined)} />
      )}
    </div>
  );
}

function NewSender({ onClose }: { onClose(): void }) {
  const { data: user } = useQuery(sessionQuery);
  const [typed, setTyped] = useTyped('sender', {
    channel: 'email' as RegisteredSender['channel'],
    sender: '',
    workspace: user?.workspace.id ?? '',
    selector: '',
  });
  const [privateKey, setPrivateKey] = useState('');
  const queries = useQueryClient();
  const once = useOnceKey();
  const creation = useMutation({
    mutationFn: () => {
      const { channel, sender, workspace, selector } = typed;
      const dkim = channel === 'email' && selector ? { dkim: { selector, privateKey } } : {};
      const body = { channel, sender, workspace, ...dkim };
      return call<RegisterSenderData, unknown>('POST', '/api/admin/senders', {
        body,
        idempotencyKey: once.keyOf(body),
      });
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['senders'] });
      onClose();
    },
  });
  const shared = (name: keyof typeof typed, path: string = name) => ({
    value: typed[name],
    wrong: findingAt(creation.error, path),
    onChange: ({ target }: { target: { value: string } }) => setTyped({ ...typed, [name]: target.value }),
  });
  return (
    <Confirm
      title={texts.newSender}
      confirm={TEXTS.common.create}
      busy={creation.isPending}
      error={creation.error}
      onConfirm={() => creation.mutate()}
      onClose={onClose}
    >
      <Select label={texts.channel} {...shared('channel')}>
        {CHANNELS.map((one) => (
          <option key={one} value={one}>
            {channels[one]}
          </option>
        ))}
      </Select>
      <Field label={texts.sender} hint={texts.senderHint} {...shared('sender')} />
      <Field label={texts.workspace} {...shared('workspace')} />
      {typed.channel === 'email' && (
        <>
          <Field label={texts.selector} hint={texts.selectorHint} {...shared('selector', 'dkim.selector')} />
          <TextArea
            label={texts.privateKey}
            rows={3}
            value={privateKey}
            wrong={findingAt(creation.error, 'dkim.privateKey')}
            onChange={({ target }) => setPrivateKey(target.value)}
          />
        </>
      )}
    </Confirm>
  );
}

function DeleteSender({ sender: { id, sender }, onClose }: { sender: RegisteredSender; onClose(): void }) {
  const queries = useQueryClient();
  const deletion = useMutation({
    mutationFn: () => call<DeleteSenderData, unknown>('DELETE', '/api/admin/senders/{id}', { path: { id } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['senders'] });
      onClose();
    },
  });
  return (
    <Confirm
      danger
      title={fill(texts.changeTitle, { verb: TEXTS.common.remove, name: sender })}
      confirm={TEXTS.common.remove}
      busy={deletion.isPending}
      error={deletion.error}
      onConfirm={() => deletion.mutate()}
      onClose={onClose}
    >
      <p>{texts.deleteSenderText}</p>
    </Confirm>
  );
}
