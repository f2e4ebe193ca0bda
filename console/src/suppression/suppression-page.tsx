import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../api/client';
import type {
  LiftSuppressionData,
  ListSuppressionsData,
  ListSuppressionsResponse,
  Suppression,
} from '../api/types.gen';
import { Button } from '../design/button';
import { Confirm } from '../design/confirm';
import { ExportButton } from '../design/export-button';
import { Select } from '../design/field';
import { ImportDialog } from '../design/import-dialog';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { Paging } from '../design/paging';
import { SearchField } from '../design/search-field';
import { EmptyState } from '../design/states';
import { Table } from '../design/table';
import { Day } from '../design/time';
import { useToast } from '../design/toast';
import { fill } from '../format';
import { Actions, NotShown, useMay } from '../shell/allowed';
import { TEXTS } from '../texts';
import { AddSuppression } from './add-suppression';

const { suppression: texts, channels } = TEXTS;
const route = getRouteApi('/signed-in/suppression');
const SUPPRESSED_ON = ['all', 'email', 'sms', 'voice'] as const;
const LIMIT = 50;

type Open = { what: 'add' } | { what: 'import' } | { what: 'lift'; entry: Suppression };

/** Addresses that are not written to. */
export function SuppressionPage() {
  const [open, setOpen] = useState<Open>();
  const queries = useQueryClient();
  const close = () => setOpen(undefined);
  const refresh = () => void queries.invalidateQueries({ queryKey: ['suppressions'] });
  return (
    <Page
      title={TEXTS.nav.suppression}
      lead={texts.lead}
      actions={
        <>
          <Actions
            all={[
              {
                from: 'editor',
                label: texts.add,
                shown: (
                  <Button kind="primary" onClick={() => setOpen({ what: 'add' })}>
                    {texts.add}
                  </Button>
                ),
              },
              {
                from: 'editor',
                label: TEXTS.imports.submit,
                shown: <Button onClick={() => setOpen({ what: 'import' })}>{TEXTS.imports.submit}</Button>,
              },
            ]}
          />
          <ExportButton address="/api/suppression.csv" name="suppression.csv">
            {TEXTS.common.export}
          </ExportButton>
        </>
      }
    >
      <Entries onLift={(entry) => setOpen({ what: 'lift', entry })} />
      {open?.what === 'add' && <AddSuppression onClose={close} onDone={refresh} />}
      {open?.what === 'import' && (
        <ImportDialog
          title={texts.importTitle}
          address="/api/suppression"
          help={texts.importHelp}
          onDone={refresh}
          onClose={close}
        />
      )}
      {open?.what === 'lift' && <Lift entry={open.entry} onClose={close} onDone={refresh} />}
    </Page>
  );
}

function Entries({ onLift }: { onLift(entry: Suppression): void }) {
  const { page = 1, search = '', channel } = route.useSearch();
  const navigate = route.useNavigate();
  const may = useMay();
  const list = useQuery({
    queryKey: ['suppressions', { page, search, channel }],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      call<ListSuppressionsData, ListSuppressionsResponse>('GET', '/api/suppression', {
        query: { page, limit: LIMIT, search, ...(channel && { channel }) },
        signal,
      }),
  });
  const go = (changed: { page?: number; search?: string; channel?: typeof channel }) => {
    const next = { search, channel, page: 1, ...changed };
    return navigate({
      replace: true,
      search: {
        ...(next.search && { search: next.search }),
        ...(next.channel && { channel: next.channel }),
        ...(next.page > 1 && { page: next.page }),
      },
    });
  };
  return (
    <div className="stack">
      <div className="row end">
        <SearchField value={search} onSearch={(value) => void go({ search: value })} />
        <Select
          label={texts.channel}
          value={channel ?? ''}
          onChange={({ target }) => void go({ channel: SUPPRESSED_ON.find((one) => one === target.value) })}
        >
          <option value="">{texts.anyChannel}</option>
          {SUPPRESSED_ON.map((one) => (
            <option key={one} value={one}>
              {channelName(one)}
            </option>
          ))}
        </Select>
      </div>
      <Loaded query={list}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            search || channel ? (
              <EmptyState title={fill(TEXTS.common.nothingFound, { search })}>
                {TEXTS.common.nothingFoundText}
              </EmptyState>
            ) : (
              <EmptyState title={texts.none}>{texts.noneText}</EmptyState>
            )
          ) : (
            <>
              <Table
                caption={TEXTS.nav.suppression}
                rows={data}
                keyOf={({ id }) => id}
                columns={may('admin') ? [...COLUMNS, lifting(onLift)] : COLUMNS}
              />
              <Paging {...pagination} onPage={(next) => void go({ page: next })} />
              {!may('admin') && <NotShown labels={[texts.lift]} />}
            </>
          )
        }
      </Loaded>
    </div>
  );
}

const COLUMNS = [
  {
    key: 'address',
    head: texts.address,
    // One that was erased is kept as a hash, and listed without its address.
    cell: ({ address }: Suppression) => address || <span className="muted">{texts.erased}</span>,
  },
  { key: 'channel', head: texts.channel, cell: ({ channel }: Suppression) => channelName(channel) },
  { key: 'reason', head: texts.reason, cell: ({ reason }: Suppression) => reason },
  {
    key: 'source',
    head: texts.source,
    cell: ({ source }: Suppression) => texts.sources[source as keyof typeof texts.sources] ?? source,
  },
  {
    key: 'scope',
    head: texts.scope,
    cell: ({ scope }: Suppression) =>
      scope === 'workspace' ? texts.wholeWorkspace : scope.replace(/^sender:/, ''),
  },
  { key: 'since', head: texts.since, cell: ({ createdAt }: Suppression) => <Day at={createdAt} /> },
];

const lifting = (onLift: (entry: Suppression) => void) => ({
  key: 'actions',
  head: TEXTS.common.actions,
  cell: (entry: Suppression) =>
    entry.address ? (
      <Button small kind="quiet" onClick={() => onLift(entry)}>
        {texts.lift}
        <span className="only-heard">: {entry.address}</span>
      </Button>
    ) : null,
});

function channelName(channel: Suppression['channel']): string {
  return channel === 'all' ? texts.everyChannel : channels[channel];
}

function Lift({ entry, onClose, onDone }: { entry: Suppression; onClose(): void; onDone(): void }) {
  const { channel, scope } = entry;
  // One without an address, because its person was erased, has no button that leads here.
  const address = entry.address ?? '';
  const say = useToast();
  const lift = useMutation({
    mutationFn: () =>
      call<LiftSuppressionData, unknown>('DELETE', '/api/suppression', {
        query: { channel, address, ...(scope === 'workspace' ? {} : { scope }) },
      }),
    onSuccess: () => {
      say(fill(texts.lifted, { address }));
      onClose();
      onDone();
    },
  });
  return (
    <Confirm
      title={fill(texts.liftTitle, { address })}
      confirm={texts.lift}
      busy={lift.isPending}
      error={lift.error}
      onConfirm={() => lift.mutate()}
      onClose={onClose}
    >
      <p>{fill(texts.liftText, { channel: channelName(channel) })}</p>
    </Confirm>
  );
}
