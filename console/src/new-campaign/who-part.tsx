import { useQuery } from '@tanstack/react-query';
import { type ChangeEvent, useMemo, useState } from 'react';
import { ApiProblem } from '../api/problem';
import { Choice, Field, TextArea } from '../design/field';
import { ErrorState, Skeleton } from '../design/states';
import { useSettled } from '../design/use-settled';
import { fill, plural } from '../format';
import { TEXTS } from '../texts';
import type { Draft } from './draft';
import { listQuery, listsQuery } from './new-campaign-queries';
import { recipientsOf, textOfFile } from './recipients-text';

const texts = TEXTS.newCampaign.who;

/** As many as one call takes (docs/api.md 19); more go into a contact list first. */
const ROWS_MAX = 10_000;
const FILE_MAX = 4_000_000;
const WRONG_ROWS_SHOWN = 5;

interface PartProps {
  draft: Draft;
  change(changed: Partial<Draft>): void;
}

export function WhoPart({ draft, change, error }: PartProps & { error: unknown }) {
  return (
    <fieldset className="group">
      <legend>
        <h2>{texts.title}</h2>
      </legend>
      <Lists draft={draft} change={change} />
      <Pasted draft={draft} change={change} error={error} />
    </fieldset>
  );
}

function Lists({ draft, change }: PartProps) {
  const [typed, setTyped] = useState('');
  const search = useSettled(typed.trim());
  const found = useQuery(listsQuery(search));
  const shown = found.data ?? [];
  const chosen = draft.lists.filter((id) => !shown.some((one) => one.id === id));
  const toggle = (id: string, isChosen: boolean) =>
    change({ lists: isChosen ? [...draft.lists, id] : draft.lists.filter((one) => one !== id) });
  const hasNone = found.isSuccess && search === '' && shown.length === 0;
  return (
    <div className="field">
      <span className="label" id="lists">
        {texts.lists}
      </span>
      {!hasNone && (
        <Field
          label={texts.searchLists}
          type="search"
          maxLength={200}
          value={typed}
          // Enter would make a dry run.
          onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
          onChange={({ target }) => setTyped(target.value)}
        />
      )}
      {found.isPending && <Skeleton lines={2} />}
      {found.error && <ErrorState error={found.error} onRetry={() => found.refetch()} />}
      {found.isSuccess && shown.length === 0 && (
        <p className="muted" role="status">
          {hasNone ? texts.noLists : texts.noList}
        </p>
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: it stands inside a fieldset already */}
      <div role="group" aria-labelledby="lists" className="choices">
        {chosen.map((id) => (
          <ChosenList key={id} id={id} onDrop={() => toggle(id, false)} />
        ))}
        {shown.map(({ id, name }) => (
          <Choice
            key={id}
            label={name}
            checked={draft.lists.includes(id)}
            onChange={({ target }) => toggle(id, target.checked)}
          />
        ))}
      </div>
    </div>
  );
}

/** One that is chosen and not among those that are shown. */
function ChosenList({ id, onDrop }: { id: string; onDrop(): void }) {
  const { data } = useQuery(listQuery(id));
  return <Choice label={data?.name ?? id} checked onChange={onDrop} />;
}

function Pasted({ draft, change, error }: PartProps & { error: unknown }) {
  const [wrong, setWrong] = useState<string>();
  const count = useMemo(() => recipientsOf(draft.pasted).length, [draft.pasted]);
  const read = async ({ target }: ChangeEvent<HTMLInputElement>) => {
    const [file] = target.files ?? [];
    if (!file) return;
    if (file.size > FILE_MAX) {
      setWrong(fill(texts.tooLarge, { n: ROWS_MAX }));
      return;
    }
    const text = textOfFile(await file.arrayBuffer());
    setWrong(text === undefined ? texts.notUtf8 : undefined);
    if (text !== undefined) change({ pasted: text });
  };
  const isTooMany = count > ROWS_MAX;
  return (
    <>
      <TextArea
        label={texts.paste}
        hint={texts.pasteHint}
        wrong={isTooMany ? fill(texts.tooLarge, { n: ROWS_MAX }) : wrongRows(error)}
        value={draft.pasted}
        spellCheck={false}
        rows={5}
        onChange={({ target }) => change({ pasted: target.value })}
      />
      {draft.pasted.trim() !== '' && (
        <p className="muted" role="status">
          {plural(count, texts.rows)}
        </p>
      )}
      <div className="columns">
        <Field
          label={texts.file}
          type="file"
          accept=".csv,text/csv,text/plain"
          wrong={wrong}
          onChange={read}
        />
        <Field
          label={texts.country}
          hint={texts.countryHint}
          value={draft.country}
          maxLength={2}
          onChange={({ target }) => change({ country: target.value.toUpperCase() })}
        />
      </div>
      {draft.pasted.trim() !== '' && (
        <Choice
          label={texts.skipInvalid}
          hint={texts.skipInvalidHint}
          checked={draft.skipInvalid}
          onChange={({ target }) => change({ skipInvalid: target.checked })}
        />
      )}
    </>
  );
}

/** Rows are counted from one, as a person and the table of left out rows do; the API counts them from zero. */
function wrongRows(error: unknown): string | undefined {
  if (!(error instanceof ApiProblem)) return undefined;
  const rows = error.findings.flatMap(({ path, message }) => {
    const [, index, field = ''] = /^recipients\.(\d+)\.?(.*)$/.exec(path) ?? [];
    if (index === undefined) return [];
    const row = fill(texts.wrongRow, { n: Number(index) + 1 });
    return `${field === '' ? row : `${row}, ${field}`}: ${message}`;
  });
  if (rows.length === 0) return undefined;
  const shown = rows.slice(0, WRONG_ROWS_SHOWN).join('. ');
  return rows.length > WRONG_ROWS_SHOWN ? `${shown}. ${fill(texts.wrongRows, { n: rows.length })}` : shown;
}
