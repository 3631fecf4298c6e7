/** Exports the records that a list shows as CSV, page by page, so that a long list needs no large response. */
import { useRef, useState } from 'preact/hooks';
import type { RecordFilter } from '../../records/filters.ts';
import { queryRecords, type Kind } from '../../records/records.ts';
import { Button } from '../../ui/button.tsx';
import { toast, toastError } from '../../ui/toaster.tsx';

const PAGE_SIZE = 1000;
const ROWS_MAX = 100_000;

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
    // A list loads in less time without what only an export needs.
    const { downloadCSV } = await import('../../browser/download.ts');
    const rows: string[][] = [];
    let cursor: string | undefined;
    do {
      setCount(rows.length);
      // Each page begins where the previous page ends.
      const page = await queryRecords(kind, filters, { maxReturn: PAGE_SIZE, cursor, sort }, left.signal);
      rows.push(...page.rows.map((row) => columns.map((name) => row[name] ?? '')));
      cursor = page.next ?? undefined;
    } while (cursor !== undefined && rows.length < ROWS_MAX);
    downloadCSV(`storeroom-${kind}.csv`, columns, rows);
    toast(`${cursor === undefined ? '' : 'The first '}${rows.length} records exported`);
  };
  const start = () =>
    void run()
      .catch((fault: unknown) => running.current?.signal.aborted || toastError(fault))
      .finally(() => setCount(undefined));
  if (count === undefined)
    return (
      <Button icon="download" onClick={start}>
        Export CSV
      </Button>
    );
  return <Button onClick={() => running.current?.abort()}>Cancel export ({count})</Button>;
}
