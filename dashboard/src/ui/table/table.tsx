/**
 * Tables: dense, with a fixed head, in a scrolling region that the keyboard can reach. If a row opens a page, its first
 * cell is the link, and a click anywhere on the row follows it. Below them, a button that loads more.
 */
import type { ComponentChildren, TargetedMouseEvent } from 'preact';
import type { Loaded } from '../../api/use-load.ts';
import { Link, navigate } from '../../browser/router.tsx';
import { Button } from '../button.tsx';
import { LoadError, Skeleton } from '../page.tsx';
import { Time, type TimeUnit } from '../text/text.tsx';

/**
 * The classes of a column. `end` is for numbers. A `wide` column gets the remaining width and wraps; others are as wide
 * as their text, and cut long texts.
 */
export type Look = 'end' | 'mono' | 'wide' | 'mono end' | 'mono wide' | 'not-on-phone';
export interface TableColumn<Row> {
  readonly key: string;
  /** The name of a number in a card on a phone. */
  readonly label?: string;
  readonly head: ComponentChildren;
  readonly cell: (row: Row) => ComponentChildren;
  readonly look?: Look | undefined;
  /** Whether the head is a button that sorts by the column, if the table has `sort`. */
  readonly isSortable?: boolean;
}

/** Example: `column('Status', ({ httpStatus }) => <StatusBadge status={httpStatus} />)`. */
export const column = <Row,>(head: string, cell: (row: Row) => ComponentChildren, look?: Look): TableColumn<Row> => ({
  key: head,
  head,
  cell,
  look,
});

/** A column that shows a member of its rows unchanged. Example: `textColumn('client', 'Client', 'mono')`. */
export const textColumn = <Key extends string>(key: Key, head: string, look?: Look) =>
  column<Readonly<Record<Key, ComponentChildren>>>(head, (row) => row[key], look);

/** A column of times. Example: `timeColumn('at', 'When', 'seconds')`. */
export const timeColumn = <Key extends string>(key: Key, head: string, to?: TimeUnit, look?: Look) =>
  column<Readonly<Record<Key, string | null>>>(head, (row) => <Time at={row[key]} to={to} />, look);

export interface Sort {
  readonly key: string;
  readonly isDescending: boolean;
  readonly onSort: (key: string) => void;
}
/** Parses a sort of the address: `-calls` is descending by `calls`. */
export const parseSort = (text: string) => ({ key: text.replace(/^-/, ''), isDescending: text.startsWith('-') });

interface TableProps<Row> {
  /** The name of the table for screen readers. */
  label: string;
  columns: readonly TableColumn<Row>[];
  /** The rows, or undefined while they are loaded for the first time. */
  rows: readonly Row[] | undefined;
  /** The name of the member that identifies a row, or a function that returns its key. */
  rowKey: (keyof Row & string) | ((row: Row) => string);
  /** Returns the path of a row below /dashboard. */
  rowLink?: ((row: Row) => string | undefined) | undefined;
  /** The sort order of the rows, which the page applies (sort.ts). */
  sort?: Sort;
  rowClass?: ((row: Row) => string | undefined) | undefined;
  /** The placeholder for a table without rows. */
  empty?: ComponentChildren;
  /** The loader of the rows, whose error is shown above them. */
  from?: Pick<Loaded<unknown>, 'error' | 'isLoading' | 'reload'> & { more?: (() => void) | undefined };
  skeletonRows?: number;
  /** Whether each row is a card on a phone, and the first column stays in view. */
  isCards?: boolean;
}

/**
 * Example: `<Table label="Users" columns={[textColumn('email', 'Email')]} rows={data?.users} rowKey="email" />`.
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
  from,
  skeletonRows = 8,
  isCards = false,
}: TableProps<Row>) {
  const fault = from?.error && <LoadError error={from.error} onRetry={(rows && from.more) ?? from.reload} />;
  if (rows === undefined) return fault ?? <Skeleton lines={skeletonRows} />;
  if (rows.length === 0 && empty !== undefined) return <div class="table-region">{empty}</div>;
  return (
    <>
      {fault}
      {/* The region scrolls, so the keyboard must reach it. */}
      <div class="table-region" role="region" aria-label={label} tabIndex={0} aria-busy={from?.isLoading || undefined}>
        <table class={`table ${from?.isLoading ? 'is-loading' : ''} ${isCards ? 'cards' : ''}`}>
          <thead>
            <tr>
              {columns.map((of) => (
                <Head key={of.key} of={of} sort={sort} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <TableRow
                key={typeof rowKey === 'function' ? rowKey(row) : String(row[rowKey])}
                row={row}
                columns={columns}
                link={rowLink?.(row)}
                extraClass={rowClass?.(row)}
              />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Head<Row>({ of, sort }: { of: TableColumn<Row>; sort: Sort | undefined }) {
  const { key, head, look, isSortable } = of;
  const direction = sort?.key !== key ? undefined : sort.isDescending ? 'descending' : 'ascending';
  return (
    <th scope="col" class={look} aria-sort={direction}>
      {sort !== undefined && isSortable ? (
        <button type="button" class={`sort ${direction ?? ''}`} onClick={() => sort.onSort(key)}>
          {head}
        </button>
      ) : (
        head
      )}
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
      {columns.map(({ key, look, label, cell }, index) => (
        <td key={key} class={look} data-label={label}>
          {index === 0 && link !== undefined ? (
            <Link class="row-link" to={link}>
              {cell(row)}
            </Link>
          ) : (
            cell(row)
          )}
        </td>
      ))}
    </tr>
  );
}

interface LoadMoreProps {
  onMore: (() => void) | undefined;
  isBusy: boolean;
  label: string;
  children?: ComponentChildren;
}

/** Example: `<LoadMore label="Older" onMore={more} isBusy={isBusy}>100 records</LoadMore>`. */
export const LoadMore = ({ onMore, isBusy, label, children }: LoadMoreProps) => (
  <div class="pager">
    <p class="muted" aria-live="polite">
      {children}
    </p>
    {onMore && (
      <Button size="small" isBusy={isBusy} onClick={onMore}>
        {label}
      </Button>
    )}
  </div>
);
