/**
 * The list of one kind of records: found by code, filtered by any field, page by page, in chosen columns, with the call
 * of the API that gives it.
 */
import type { FieldType } from '../../../../src/pims/rules/fields.ts';
import { get } from '../../api/client.ts';
import { parseFilters, toFilterBody } from '../../api/filters.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { useLoad } from '../../api/use-load.ts';
import { KINDS, isKind, queryRecords, recordPath, type Kind, type LoadedPage } from '../../api/records.ts';
import { useParams, useQuery } from '../../router.tsx';
import { StageBadge } from '../../ui/badge.tsx';
import { ApiCall } from './api-call.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, LoadError } from '../../ui/notice.tsx';
import { Page } from '../../ui/page.tsx';
import { PageButtons } from '../../ui/table/page-buttons.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import { countOf } from '../../ui/text/text.tsx';
import { Time } from '../../ui/text/time.tsx';
import { NotFoundPage } from '../../app/not-found-page.tsx';
import { ColumnChooser, useColumns } from './column-chooser.tsx';
import { FilterBar } from './filter-form.tsx';
import { FindRecord } from './find-form.tsx';

const PAGE_SIZE = 50;
/** The cursors of the pages before are kept in the address, which has room for about this much of them. */
const CURSORS_LENGTH_MAX = 3000;

export function RecordsPage() {
  const { kind = '' } = useParams();
  return isKind(kind) ? <Records kind={kind} /> : <NotFoundPage />;
}

function Records({ kind }: { kind: Kind }) {
  const [query, setQuery] = useQuery();
  const filters = parseFilters(query);
  const cursors = query.getAll('cursor');
  const cursor = cursors.at(-1);
  const fields = useLoad('fields', (signal) => get('/fields', {}, signal)).data?.fields[kind];
  const [columns, setColumns] = useColumns(kind);
  const { data, error, isLoading, reload } = useLoad(JSON.stringify([filters, cursor]), (signal) =>
    queryRecords(kind, filters, { maxReturn: PAGE_SIZE, cursor }, signal),
  );
  const { label } = KINDS[kind];
  // What is wrong with the query is said where it is written; what went wrong otherwise, in place of the table.
  const isRefused = error?.httpStatus === 400;
  return (
    <Page title={label}>
      <div class="records-tools">
        <FindRecord kind={kind} />
        <ColumnChooser kind={kind} fields={fields ?? []} columns={columns} onColumns={setColumns} />
        <FilterBar fields={fields ?? []} error={isRefused ? error : undefined} />
      </div>
      {error !== undefined && !isRefused && <LoadError error={error} onRetry={reload} />}
      {error === undefined && (
        <Table
          label={label}
          columns={columns.map((name) => columnOf(name, fields?.find((field) => field.name === name)?.type))}
          rows={data?.rows}
          isLoading={isLoading}
          rowKey={(row) => row[KINDS[kind].key] ?? ''}
          rowLink={(row) => recordPath(kind, row[KINDS[kind].key] ?? '')}
          empty={
            <NoRecords
              kind={kind}
              isFiltered={filters.length > 0}
              onClear={() => setQuery({ filter: null, cursor: null, page: null })}
            />
          }
        />
      )}
      {error === undefined && <Pages data={data} />}
      <ApiCall
        call={{
          method: 'POST',
          path: `/${kind}/query`,
          query: { maxReturn: PAGE_SIZE, cursor },
          body: toFilterBody(filters),
        }}
      />
    </Page>
  );
}

function columnOf(name: string, type: FieldType | undefined): TableColumn<Values> {
  const isNumber = type === 'number';
  return {
    key: name,
    head: name,
    cell: (row) => <Cell name={name} type={type} value={row[name] ?? ''} />,
    align: isNumber ? 'end' : 'start',
  };
}

function Cell({ name, type, value }: { name: string; type: FieldType | undefined; value: string }) {
  if (value === '') return null;
  if (name === 'ORDER_TYPE') return <StageBadge stage={value} />;
  if (type === 'timestamp') return <Time at={value} />;
  if (type === 'number') return <span class={value.startsWith('-') ? 'negative' : undefined}>{value}</span>;
  return <bdi>{value}</bdi>;
}

function NoRecords({ kind, isFiltered, onClear }: { kind: Kind; isFiltered: boolean; onClear: () => void }) {
  const { label } = KINDS[kind];
  if (isFiltered)
    return (
      <Empty title="Nothing matches these filters" action={<Button onClick={onClear}>Clear filters</Button>}>
        Only contains does not mind the case. Dates are MM/DD/YYYY, times like 2026-11-20T09:30:00Z.
      </Empty>
    );
  return <Empty title={`No ${label.toLowerCase()} here yet`}>They come by the API or by an import.</Empty>;
}

/**
 * The cursors that led here stand in the address, the newest last, so that one can go back; the oldest go when there is
 * no more room.
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
    <PageButtons
      labels={['Previous', 'Next']}
      onNewer={cursors.length === 0 ? undefined : () => go(cursors.slice(0, -1), page - 1)}
      onOlder={next === null ? undefined : () => go([...cursors, next], page + 1)}
    >
      {data !== undefined &&
        (cursors.length === 0 && next === null ? '' : `Page ${page} · `) + countOf(count, 'record')}
    </PageButtons>
  );
}
