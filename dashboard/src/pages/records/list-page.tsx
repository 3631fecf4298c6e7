/**
 * The list of one kind of records, page by page, with filters, chosen columns and the call of the API. Begin here.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FieldView } from '../../../../src/http/dashboard/interface.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { parseFilters, toFilterBody } from '../../records/filters.ts';
import { reloadPage, useGet, useLoad, type Loaded } from '../../api/use-load.ts';
import { countRecords, KINDS, isKind, queryRecords, recordPath } from '../../records/records.ts';
import type { Kind, LoadedPage } from '../../records/records.ts';
import { useParams, useQuery, type QueryChange } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { ApiCall } from '../../records/api-call.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Empty, Page } from '../../ui/page.tsx';
import { parseSort, Table, type Sort, type TableColumn } from '../../ui/table/table.tsx';
import { usePlace } from '../../ui/table/place.ts';
import { countOf } from '../../ui/text/text.tsx';
import { NewRecord } from '../../records/edit/edit-record.tsx';
import NotFoundPage from '../../ui/not-found-page.tsx';
import { BulkActions } from './bulk.tsx';
import { ColumnChooser, useColumns } from './column-chooser.tsx';
import { ExportButton } from './export.tsx';
import { fieldColumn } from '../../records/field-column.tsx';
import { FilterBar } from './filter-form.tsx';
import { Views } from '../../records/views.tsx';

const PAGE_SIZE = 50;
/** Maximum length of the cursors in the address. */
const CURSORS_LENGTH_MAX = 3000;

export default function RecordsPage() {
  const { kind = '' } = useParams();
  return isKind(kind) ? <Records kind={kind} /> : <NotFoundPage />;
}

function Records({ kind }: { kind: Kind }) {
  const [query] = useQuery();
  const filters = parseFilters(query);
  const cursors = query.getAll('cursor');
  const cursor = cursors.at(-1);
  const fields = useGet('/fields').data?.fields[kind];
  const [chosen, setColumns] = useColumns(kind);
  const columns = [...new Set([...chosen, ...filters.map(({ field }) => field)])];
  const sort = query.get('sort') ?? KINDS[kind].sort;
  const shownKey = JSON.stringify([filters, cursor, sort]);
  const page = useLoad(shownKey, (signal) =>
    queryRecords(kind, filters, { maxReturn: PAGE_SIZE, cursor, sort }, signal),
  );
  const [selected, setSelected] = useState<readonly string[]>([]);
  useEffect(() => setSelected([]), [shownKey]);
  const areShown = page.data !== undefined;
  usePlace(areShown);
  const ready = useRef(false);
  ready.current ||= areShown;
  const isReady = ready.current; // The counts must not delay the rows.
  const total = useLoad(`${areShown} ${JSON.stringify(filters)}`, async (signal) =>
    areShown ? countRecords(kind, filters, signal) : undefined,
  ).data;
  const { label } = KINDS[kind];
  const { may } = useSession();
  const { data, error } = page;
  // An error about the query is shown at the filters, any other error in place of the table.
  const isRejected = error?.httpStatus === 400;
  return (
    <Page
      title={label}
      badge={total !== undefined && <span class="muted">{total.toLocaleString()}</span>}
      actions={
        <>
          <ExportButton kind={kind} filters={filters} sort={sort} columns={columns} />
          {may('clerk') && (
            <>
              <ButtonLink to={`/imports?type=${kind}`}>Import CSV</ButtonLink>
              <NewRecord kind={kind} />
            </>
          )}
        </>
      }
    >
      <Views key={kind} kind={kind} columns={chosen} onColumns={setColumns} isReady={isReady} />
      <div class="records-tools">
        <ColumnChooser kind={kind} fields={fields ?? []} columns={chosen} onColumns={setColumns} />
        <FilterBar kind={kind} fields={fields ?? []} error={isRejected ? error : undefined} />
      </div>
      <BulkActions
        selected={selected}
        onDone={() => {
          setSelected([]);
          reloadPage();
        }}
      />
      {!isRejected && (
        <RecordTable
          kind={kind}
          page={page}
          columns={[
            ...columns.map((name) => listColumn(kind, name, fields)),
            ...(kind === 'orders' && may('clerk') ? [selectColumn(data?.rows ?? [], selected, setSelected)] : []),
          ]}
        />
      )}
      {error === undefined && <Pages data={data} />}
      <ApiCall
        call={{
          method: 'POST',
          path: `/${kind}/query`,
          query: { maxReturn: PAGE_SIZE, sort, cursor },
          body: toFilterBody(filters),
        }}
      />
    </Page>
  );
}

interface RecordTableProps {
  kind: Kind;
  page: Loaded<LoadedPage>;
  columns: readonly TableColumn<Values>[];
}
function RecordTable({ kind, page, columns }: RecordTableProps) {
  const [query, setQuery] = useQuery();
  const { key, label, sort = key } = KINDS[kind];
  const change = (part: QueryChange) => setQuery({ ...part, cursor: null, page: null });
  return (
    <Table
      label={label}
      isCards
      columns={columns}
      sort={sortOf(query.get('sort') ?? sort, (next) => change({ sort: next }))}
      rows={page.data?.rows}
      from={page}
      rowKey={key}
      rowLink={(row) => recordPath(kind, row[key] ?? '')}
      empty={<NoRecords kind={kind} isFiltered={query.has('filter')} onClear={() => change({ filter: null })} />}
    />
  );
}

/** Builds the column of a field. Its head sorts if the field has an index. */
function listColumn(kind: Kind, name: string, fields: readonly FieldView[] | undefined): TableColumn<Values> {
  const field = fields?.find((one) => one.name === name);
  return { ...fieldColumn(name, field?.type, kind), isSortable: field?.indexed ?? false };
}

const selectColumn = (
  rows: readonly Values[],
  selected: readonly string[],
  onSelect: (numbers: readonly string[]) => void,
): TableColumn<Values> => ({
  key: 'select',
  head: (
    <input
      type="checkbox"
      aria-label="Select all on this page"
      checked={rows.length > 0 && selected.length === rows.length}
      onInput={({ currentTarget }) => onSelect(currentTarget.checked ? rows.map((row) => row.ORDER_NUMBER ?? '') : [])}
    />
  ),
  cell: ({ ORDER_NUMBER: number = '' }) => (
    <input
      type="checkbox"
      aria-label={`Select order ${number}`}
      checked={selected.includes(number)}
      onInput={({ currentTarget }) =>
        onSelect(currentTarget.checked ? [...selected, number] : selected.filter((other) => other !== number))
      }
    />
  ),
  look: 'end',
});

/** Parses the sort of the address, such as `-CREATE_DATE`. The second click on a head sorts in descending order. */
function sortOf(sort: string, onSort: (sort: string) => void): Sort {
  const { key, isDescending } = parseSort(sort);
  return { key, isDescending, onSort: (next) => onSort(next === key && !isDescending ? `-${next}` : next) };
}

function NoRecords({ kind, isFiltered, onClear }: { kind: Kind; isFiltered: boolean; onClear: () => void }) {
  const { label } = KINDS[kind];
  if (isFiltered)
    return (
      <Empty title="Nothing matches these filters" action={<Button onClick={onClear}>Clear filters</Button>}>
        Only “contains” ignores letter case.
      </Empty>
    );
  return (
    <Empty
      title={`No ${label.toLowerCase()} yet`}
      action={kind === 'orders' && <ButtonLink to="/explorer/createOrder">Send a test order</ButtonLink>}
    >
      Records appear here when they are created or imported.
    </Empty>
  );
}

/**
 * Keeps the cursors of the previous pages in the address, the newest last, so that Previous works. The oldest are
 * dropped when there is no more room.
 */
function Pages({ data }: { data: LoadedPage | undefined }) {
  const [query, setQuery] = useQuery();
  const cursors = query.getAll('cursor');
  const page = Math.max(1, Number.parseInt(query.get('page') ?? '', 10) || 1);
  const go = (to: readonly string[], number: number) => {
    const kept = [...to];
    while (kept.join('').length > CURSORS_LENGTH_MAX) kept.shift();
    setQuery({ cursor: kept, page: kept.length === 0 ? null : String(number) });
  };
  const next = data?.next ?? null;
  const count = data?.rows.length ?? 0;
  if (cursors.length === 0 && next === null && count === 0) return null;
  return (
    <nav class="pager" aria-label="Pages">
      <p class="muted" aria-live="polite">
        {data && (cursors.length === 0 && next === null ? '' : `Page ${page} · `) + countOf(count, 'record')}
      </p>
      <Button
        size="small"
        icon="back"
        disabled={cursors.length === 0}
        onClick={() => go(cursors.slice(0, -1), page - 1)}
      >
        Previous
      </Button>
      <Button size="small" disabled={next === null} onClick={() => next !== null && go([...cursors, next], page + 1)}>
        Next
      </Button>
    </nav>
  );
}
