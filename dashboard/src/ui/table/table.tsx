/**
 * Tables: dense, with a fixed head, scrolling inside a region that the keyboard reaches. A row may lead to a page: its
 * first cell is the link, and a click anywhere on the row follows it.
 */
import type { ComponentChildren, TargetedMouseEvent } from 'preact';
import { Link, navigate } from '../../router.tsx';

export interface TableColumn<Row> {
  readonly key: string;
  readonly head: ComponentChildren;
  readonly cell: (row: Row) => ComponentChildren;
  /** `end` for numbers. */
  readonly align?: 'start' | 'end';
  readonly isMono?: boolean;
  /** Takes what is left and wraps; others are as wide as their text, and long ones are cut. */
  readonly isWide?: boolean;
  /** Left out where there is no room. */
  readonly isHiddenOnPhone?: boolean;
  /** Its head is a button that sorts by it, where the table is given `sort`. */
  readonly isSortable?: boolean;
}
export interface Sort {
  readonly key: string;
  readonly isDescending: boolean;
  readonly onSort: (key: string) => void;
}
export interface TableProps<Row> {
  /** What the rows are, for those who cannot see them. */
  label: string;
  columns: readonly TableColumn<Row>[];
  /** undefined while they are loaded for the first time: shows a skeleton. */
  rows: readonly Row[] | undefined;
  rowKey: (row: Row) => string;
  /** Path below /dashboard. */
  rowLink?: ((row: Row) => string | undefined) | undefined;
  /** How the rows are sorted; the page does that (sort.ts). */
  sort?: Sort | undefined;
  rowClass?: ((row: Row) => string | undefined) | undefined;
  /** Shown in place of no rows. */
  empty?: ComponentChildren;
  /** Rows are there, and newer ones are on their way. */
  isLoading?: boolean | undefined;
  skeletonRows?: number | undefined;
}

const classOf = <Row,>({ align, isMono, isWide, isHiddenOnPhone }: TableColumn<Row>): string =>
  [align === 'end' && 'end', isMono && 'mono', isWide && 'wide', isHiddenOnPhone && 'not-on-phone']
    .filter(Boolean)
    .join(' ');

/**
 * Example: `<Table label="Users" columns={[{ key: 'email', head: 'E-mail', cell: (user) => user.email }]}
 * rows={data?.users} rowKey={(user) => user.email} />`.
 */
export function Table<Row>({
  label,
  columns,
  rows,
  rowKey,
  rowLink,
  sort,
  rowClass,
  empty,
  isLoading,
  skeletonRows = 8,
}: TableProps<Row>) {
  if (rows?.length === 0 && empty !== undefined) return <div class="table-region">{empty}</div>;
  return (
    // The region scrolls, so the keyboard must reach it.
    <div
      class="table-region"
      role="region"
      aria-label={label}
      tabIndex={0}
      aria-busy={rows === undefined || isLoading || undefined}
    >
      <table class={isLoading && rows !== undefined ? 'table is-loading' : 'table'}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.key} column={column} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows === undefined ? (
            <SkeletonRows columns={columns} count={skeletonRows} />
          ) : (
            rows.map((row) => (
              <TableRow
                key={rowKey(row)}
                row={row}
                columns={columns}
                link={rowLink?.(row)}
                extraClass={rowClass?.(row)}
              />
            ))
          )}
        </tbody>
      </table>
    </div>
  );
}

function Head<Row>({ column, sort }: { column: TableColumn<Row>; sort: Sort | undefined }) {
  const { key, head, isSortable } = column;
  if (sort === undefined || !isSortable)
    return (
      <th scope="col" class={classOf(column)}>
        {head}
      </th>
    );
  const direction = sort.isDescending ? 'descending' : 'ascending';
  return (
    <th scope="col" class={classOf(column)} aria-sort={sort.key === key ? direction : undefined}>
      <button type="button" class={`sort ${sort.key === key ? direction : ''}`} onClick={() => sort.onSort(key)}>
        {head}
      </button>
    </th>
  );
}

interface TableRowProps<Row> {
  row: Row;
  columns: readonly TableColumn<Row>[];
  link: string | undefined;
  extraClass: string | undefined;
}
function TableRow<Row>({ row, columns, link, extraClass }: TableRowProps<Row>) {
  const follow = (event: TargetedMouseEvent<HTMLTableRowElement>) => {
    const isOther = (event.target as Element).closest('a, button, input, select, label, summary') !== null;
    if (link === undefined || isOther || getSelection()?.toString()) return;
    if (event.metaKey || event.ctrlKey) open(`/dashboard${link}`, '_blank', 'noopener');
    else navigate(link);
  };
  return (
    <tr class={[link !== undefined && 'is-link', extraClass].filter(Boolean).join(' ') || undefined} onClick={follow}>
      {columns.map((column, index) => (
        <td key={column.key} class={classOf(column)}>
          {index === 0 && link !== undefined ? (
            <Link class="row-link" to={link}>
              {column.cell(row)}
            </Link>
          ) : (
            column.cell(row)
          )}
        </td>
      ))}
    </tr>
  );
}

const SkeletonRows = <Row,>({ columns, count }: { columns: readonly TableColumn<Row>[]; count: number }) => (
  <>
    {Array.from({ length: count }, (_, row) => (
      <tr key={row} aria-hidden="true">
        {columns.map((column, index) => (
          <td key={column.key} class={classOf(column)}>
            <span class={`skeleton w${((row * 3 + index * 5) % 4) + 1}`} />
          </td>
        ))}
      </tr>
    ))}
  </>
);
