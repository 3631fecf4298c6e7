/** Exports the records that a list shows as CSV, page by page, so that a long list needs no long answer. */
import { useRef, useState } from 'preact/hooks';
import { downloadFile, formatCSV, guardFormula } from '../../api/download.ts';
import type { RecordFilter } from '../../api/filters.ts';
import { queryRecords, type Kind } from '../../api/records.ts';
import { toApiError } from '../../api/use-load.ts';
import { Button } from '../../ui/button.tsx';
import { toast } from '../../ui/toaster.tsx';

const PAGE_SIZE = 1000;
const ROWS_MOST = 100_000;

interface ExportProps {
  kind: Kind;
  filters: readonly RecordFilter[];
  sort: string | undefined;
  columns: readonly string[];
}

/** Example: `<ExportButton kind="orders" filters={filters} sort={sort} columns={columns} />`. */
export function ExportButton({ kind, filters, sort, columns }: ExportProps) {
  const [count, setCount] = useState<number>();
  const running = useRef<AbortController>(undefined);
  const run = async () => {
    const left = new AbortController();
    running.current = left;
    const parts = [formatCSV(columns, [])];
    let rows = 0;
    let cursor: string | undefined;
    do {
      setCount(rows);
      // Each page begins where the one before ends.
      const page = await queryRecords(kind, filters, { maxReturn: PAGE_SIZE, cursor, sort }, left.signal);
      const cells = page.rows.map((row) => columns.map((name) => guardFormula(row[name] ?? '')));
      parts.push(cells.map((row) => formatCSV(row, [])).join(''));
      rows += page.rows.length;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined && rows < ROWS_MOST);
    downloadFile(`storeroom-${kind}.csv`, 'text/csv;charset=utf-8', parts.join(''));
    toast(cursor === undefined ? `${rows} records exported` : `The first ${rows} records exported`);
  };
  const start = () =>
    void run()
      .catch((fault: unknown) => running.current?.signal.aborted || toast(toApiError(fault).message, 'bad'))
      .finally(() => setCount(undefined));
  if (count === undefined)
    return (
      <Button icon="download" onClick={start}>
        Export CSV
      </Button>
    );
  return <Button onClick={() => running.current?.abort()}>Cancel export ({count})</Button>;
}
