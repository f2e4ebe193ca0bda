import type { ReactNode } from 'react';

export interface Column<Row> {
  key: string;
  head: ReactNode;
  /** Numbers stand at the end of their column, with digits of one width. */
  numeric?: boolean;
  cell(row: Row): ReactNode;
}

interface TableProps<Row> {
  /** What the table holds, for those who cannot see it. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string;
}

/** A table that scrolls within itself on narrow screens; the first column names its row. */
export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  return (
    // A region that scrolls must be reached by keyboard (WCAG 2.1.1).
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className="table-frame" tabIndex={0} aria-label={caption}>
      <table className="table">
        <caption className="only-heard">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ key, head, numeric }) => (
              <th key={key} scope="col" className={numeric ? 'number' : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ key, numeric, cell }) => (
                <td key={key} className={numeric ? 'number' : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
