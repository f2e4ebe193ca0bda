import { type DragEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { isProblem } from '../api/problem';
import { upload } from '../api/upload';
import { fill, formatNumber, formatShare } from '../format';
import { TEXTS } from '../texts';
import { Badge } from './badge';
import { Button } from './button';
import { csvOf, download } from './download';
import { LeaveImportGuard } from './leave-import';
import { ErrorState } from './states';
import { Table } from './table';
import { useTyped } from './use-typed';
import './import-panel.css';

const { imports } = TEXTS;

/** What an import answers; counts differ by what is imported. */
export interface ImportAnswer {
  rejected: number;
  errors: readonly { line: number; field: string; code: string; message: string }[];
  [count: string]: unknown;
}

interface ImportPanelProps {
  /** Where the file goes. */
  address: string;
  /** What its columns are. */
  help: ReactNode;
  /** Beside the file, before it is sent. */
  options?: ReactNode;
  onDone(): void;
  /** Whether a file is under way, which leaving the panel ends. */
  onSending?(now: boolean): void;
}

type State =
  | { is: 'choosing' }
  | { is: 'sending'; share: number; stop: AbortController }
  | { is: 'failed'; error: unknown }
  | { is: 'done'; report: ImportAnswer };

/** A CSV file by drag and drop or by the browser's own dialog, its progress, and what was wrong with it line by line. */
export function ImportPanel({ address, help, options, onDone, onSending }: ImportPanelProps) {
  const [file, setFile] = useState<File>();
  const [state, setState] = useState<State>({ is: 'choosing' });
  // The file whose import has not come to an end. The end of the session takes the page away, and a reload as well.
  const [open, setOpen] = useTyped<string | undefined>(`import.${address.split('?')[0]}`, undefined);
  const isSending = state.is === 'sending';
  const sending = useRef<AbortController>(undefined);
  // Nothing would show the rows that it leaves out.
  useEffect(() => () => sending.current?.abort(), []);
  useEffect(() => onSending?.(isSending), [isSending, onSending]);
  const send = async () => {
    if (!file) return;
    const stop = new AbortController();
    sending.current = stop;
    setState({ is: 'sending', share: 0, stop });
    setOpen(file.name);
    try {
      const report = await upload<ImportAnswer>({
        address,
        file,
        signal: stop.signal,
        onProgress: (share) => setState({ is: 'sending', share, stop }),
      });
      setState({ is: 'done', report });
      setOpen(undefined);
      onDone();
    } catch (error) {
      if (stop.signal.aborted) return setState({ is: 'choosing' });
      setState({ is: 'failed', error });
      if (!isProblem(error, 401)) setOpen(undefined);
    }
  };
  const stopSending = (stop: AbortController) => {
    stop.abort();
    setOpen(undefined);
  };
  const choose = (chosen: File | undefined) => {
    setFile(chosen);
    setState({ is: 'choosing' });
  };
  return (
    <div className="stack">
      {open !== undefined && state.is === 'choosing' && (
        <p className="notice warn" role="status">
          {fill(imports.cutOff, { name: open })}
        </p>
      )}
      <DropZone file={file} help={help} isBusy={isSending} onFile={choose} />
      {options}
      <div className="row">
        <Button kind="primary" unavailable={!file} busy={isSending} onClick={() => void send()}>
          {imports.submit}
        </Button>
        {state.is === 'sending' && <Button onClick={() => stopSending(state.stop)}>{imports.stop}</Button>}
      </div>
      <LeaveImportGuard isSending={isSending} />
      {state.is === 'sending' && <Progress share={state.share} />}
      {state.is === 'failed' && <ErrorState error={state.error} onRetry={() => void send()} />}
      {state.is === 'done' && <Report report={state.report} name={file?.name ?? 'import.csv'} />}
    </div>
  );
}

interface DropZoneProps {
  file: File | undefined;
  help: ReactNode;
  isBusy: boolean;
  onFile(file: File | undefined): void;
}

function DropZone({ file, help, isBusy, onFile }: DropZoneProps) {
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    if (!isBusy) onFile(event.dataTransfer.files[0]);
  };
  return (
    // Dropping is a second way; the control inside does the same by keyboard.
    // biome-ignore lint/a11y/noStaticElementInteractions: see above
    <div
      className={isOver ? 'drop-zone over' : 'drop-zone'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <label className="label" htmlFor={id}>
        {imports.file}
      </label>
      <input
        ref={input}
        id={id}
        type="file"
        accept=".csv,text/csv,text/plain"
        disabled={isBusy}
        aria-describedby={`${id}-help`}
        onChange={({ target }) => onFile(target.files?.[0])}
      />
      <div className="muted small" id={`${id}-help`}>
        {imports.drop} {help}
      </div>
      {file && (
        <p role="status">
          {fill(imports.chosen, { name: file.name, size: formatNumber(Math.ceil(file.size / 1_000)) })}
        </p>
      )}
    </div>
  );
}

function Progress({ share }: { share: number }) {
  const text = share < 1 ? fill(imports.sending, { share: formatShare(share, 1) }) : imports.storing;
  return (
    <div className="stack tight">
      <progress aria-label={imports.progress} max={1} {...(share < 1 ? { value: share } : {})} />
      <p role="status">{text}</p>
    </div>
  );
}

function Report({ report, name }: { report: ImportAnswer; name: string }) {
  const { errors, rejected } = report;
  const counts = Object.entries(report).filter((one): one is [string, number] => typeof one[1] === 'number');
  const save = () =>
    download(
      name.replace(/(\.csv)?$/i, '-errors.csv'),
      'text/csv;charset=utf-8',
      csvOf([
        ['line', 'field', 'code', 'message'],
        ...errors.map((one) => [one.line, one.field, one.code, one.message]),
      ]),
    );
  return (
    <section className="stack" aria-label={imports.report}>
      <div className="row" role="status">
        <Badge tone={rejected > 0 ? 'warn' : 'ok'}>{rejected > 0 ? imports.withErrors : imports.clean}</Badge>
        {counts.map(([key, count]) => (
          <span key={key}>
            {imports.counts[key as keyof typeof imports.counts] ?? key}:{' '}
            <strong>{formatNumber(count)}</strong>
          </span>
        ))}
      </div>
      {errors.length > 0 && (
        <>
          <div className="row spread">
            <h2>{imports.errors}</h2>
            <Button small onClick={save}>
              {imports.saveErrors}
            </Button>
          </div>
          <p className="muted">
            {imports.onlyRest} {rejected > errors.length && fill(imports.firstErrors, { n: errors.length })}
          </p>
          <Table
            caption={imports.errors}
            rows={errors.slice(0, 200).map((one, at) => ({ ...one, at }))}
            keyOf={({ at }) => String(at)}
            columns={[
              { key: 'line', head: imports.line, cell: ({ line }) => formatNumber(line) },
              { key: 'field', head: imports.field, cell: ({ field }) => <code>{field || '–'}</code> },
              { key: 'message', head: imports.what, cell: ({ message }) => message },
            ]}
          />
        </>
      )}
    </section>
  );
}
