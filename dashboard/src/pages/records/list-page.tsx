/**
 * The list of one kind of records, page by page, with filters, chosen columns and the call of the API. Begin here.
 */
import { get } from '../../api/client.ts';
import { parseFilters, toFilterBody } from '../../api/filters.ts';
import { useLoad } from '../../api/use-load.ts';
import { KINDS, isKind, queryRecords, recordPath, type Kind, type LoadedPage } from '../../api/records.ts';
import { useParams, useQuery } from '../../router.tsx';
import { useSession } from '../../session.tsx';
import { ApiCall } from './api-call.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/notice.tsx';
import { Page } from '../../ui/page.tsx';
import { PageButtons } from '../../ui/table/page-buttons.tsx';
import { Table } from '../../ui/table/table.tsx';
import { countOf } from '../../ui/text/text.tsx';
import { NewRecord } from '../edit/edit-record.tsx';
import { NotFoundPage } from '../../app/not-found-page.tsx';
import { ColumnChooser, useColumns } from './column-chooser.tsx';
import { fieldColumn } from './field-column.tsx';
import { FilterBar } from './filter-form.tsx';
import { FindRecord } from './find-form.tsx';

const PAGE_SIZE = 50;
/** Maximum length of the cursors in the address. */
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
  const page = useLoad(JSON.stringify([filters, cursor]), (signal) =>
    queryRecords(kind, filters, { maxReturn: PAGE_SIZE, cursor }, signal),
  );
  const { label } = KINDS[kind];
  const { may } = useSession();
  const { data, error } = page;
  // An error about the query is shown at the filters, any other in place of the table.
  const isRejected = error?.httpStatus === 400;
  return (
    <Page title={label} actions={may('clerk') && <NewRecord kind={kind} />}>
      <div class="records-tools">
        <FindRecord kind={kind} />
        <ColumnChooser kind={kind} fields={fields ?? []} columns={columns} onColumns={setColumns} />
        <FilterBar fields={fields ?? []} error={isRejected ? error : undefined} />
      </div>
      {!isRejected && (
        <Table
          label={label}
          columns={columns.map((name) => fieldColumn(name, fields?.find((field) => field.name === name)?.type))}
          rows={data?.rows}
          from={page}
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
          query: { maxReturn: PAGE_SIZE, sort: KINDS[kind].sort, cursor },
          body: toFilterBody(filters),
        }}
      />
    </Page>
  );
}

function NoRecords({ kind, isFiltered, onClear }: { kind: Kind; isFiltered: boolean; onClear: () => void }) {
  const { label } = KINDS[kind];
  if (isFiltered)
    return (
      <Empty title="Nothing matches these filters" action={<Button onClick={onClear}>Clear filters</Button>}>
        “contains” ignores upper and lower case, the others do not. Dates: 11/20/2026 or 2026-11-20.
      </Empty>
    );
  return <Empty title={`No ${label.toLowerCase()} yet`}>Send them through the API, or import a CSV file.</Empty>;
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
    <PageButtons
      onPrevious={cursors.length === 0 ? undefined : () => go(cursors.slice(0, -1), page - 1)}
      onNext={next === null ? undefined : () => go([...cursors, next], page + 1)}
    >
      {data && (cursors.length === 0 && next === null ? '' : `Page ${page} · `) + countOf(count, 'record')}
    </PageButtons>
  );
}
