/** Imports a CSV file: its columns are matched with fields, all rows are checked, and then imported. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ImportView } from '../../../../src/http/dashboard/interface.ts';
import { makeRowFitter, matchColumns } from '../../../../src/pims/csv/columns.ts';
import type { RecordType } from '../../../../src/pims/rules/fields.ts';
import { post } from '../../api/client.ts';
import { downloadCSV } from '../../browser/download.ts';
import { toApiError, useGet } from '../../api/use-load.ts';
import { useQuery } from '../../browser/router.tsx';
import { Actions, Button } from '../../ui/button.tsx';
import { Checkbox, Select, useEntry } from '../../ui/form/field.tsx';
import { Columns, Notice, Page, Section, Toolbar } from '../../ui/page.tsx';
import { countOf } from '../../ui/text/text.tsx';
import { makeFaultFinder, piecesOf, readTable, type CsvTable, type Rejection } from './csv-table.ts';

const TYPES = [
  ['inventory', 'Parts'],
  ['customers', 'Customers'],
  ['orders', 'Orders'],
  ['lines', 'Order lines'],
] as const;
const REJECTED_SHOWN = 100;

interface Report extends Omit<ImportView, 'rejected'> {
  readonly rejected: readonly Rejection[];
  readonly isDry: boolean;
  readonly fault?: string;
}

export default function ImportPage() {
  const [query] = useQuery();
  const type = useEntry(TYPES.find(([one]) => one === query.get('type'))?.[0] ?? 'inventory');
  const [table, setTable] = useState<CsvTable>();
  const [fault, setFault] = useState<string>();
  const read = (file: File | undefined) => {
    setTable(undefined);
    setFault(undefined);
    if (file) readTable(file).then(setTable, (thrown: unknown) => setFault(toApiError(thrown).message));
  };
  return (
    <Page
      title="Import"
      description="Import a CSV file whose first line names its columns. All rows are checked before any is imported."
    >
      <Toolbar label="Source">
        <Select label="Record type" name="type" {...type} options={TYPES} />
        <div class="field">
          <label class="label" for="file">
            File
          </label>
          <input
            id="file"
            class="input"
            type="file"
            accept=".csv,.tsv,.txt"
            onChange={({ currentTarget }) => read(currentTarget.files?.[0])}
          />
        </div>
      </Toolbar>
      {fault !== undefined && <Notice tone="bad" title={fault} />}
      {table && <Match key={type.value} type={type.value} table={table} />}
    </Page>
  );
}

interface MatchProps {
  type: RecordType;
  table: CsvTable;
}

/** The field of each column, the check, and the import. */
function Match({ type, table }: MatchProps) {
  const { data } = useGet('/fields');
  const known = new Map(data?.fields[type].map((field) => [field.name, field]));
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map());
  const [updates, setUpdates] = useState(false);
  const [partial, setPartial] = useState(false);
  const { report, done, run, forget } = useImport(type, table);
  const fields = matchColumns(table.head, known, chosen);
  const start = (isDry: boolean) => void run(makeRowFitter(fields, known, type, table.separator), updates, isDry);
  useEffect(forget, [chosen, updates]);
  const isReady = report?.isDry && report.fault === undefined && (partial || report.rejected.length === 0);
  const good = isReady ? report.imported + report.updated : 0;
  return (
    <Section
      title="Columns"
      description={`The file has ${countOf(table.rows.length, 'row')} and is read as ${table.encoding}.`}
    >
      <div class="stack">
        <Columns>
          {table.head.map((column, at) => (
            <Select
              key={at}
              label={column || `Column ${at + 1}`}
              name={column}
              hint={table.rows[0]!.cells[at]}
              value={fields[at]!}
              onValue={(field) => setChosen(new Map(chosen).set(column, field))}
              options={['', ...known.keys()].map((name) => [name, name || 'Leave out'])}
            />
          ))}
        </Columns>
        {(type === 'inventory' || type === 'customers') && (
          <Checkbox
            label="Update existing records"
            name="updates"
            isChecked={updates}
            onChecked={setUpdates}
            hint="If off, rows of existing records are rejected. If on, the stock ledger records an imported quantity on hand as a count."
          />
        )}
        <Checkbox
          label="Import without rejected rows"
          name="partial"
          isChecked={partial}
          onChecked={setPartial}
          hint="If off, nothing is imported while a row is rejected."
        />
        <Actions>
          <Button isBusy={done !== undefined} disabled={!fields.some(Boolean)} onClick={() => start(true)}>
            {done === undefined ? 'Check the rows' : `${done} of ${table.rows.length}`}
          </Button>
          {good > 0 && (
            <Button tone="primary" onClick={() => start(false)}>
              Import {countOf(good, 'row')}
            </Button>
          )}
        </Actions>
        {report && <Outcome report={report} table={table} />}
      </div>
    </Section>
  );
}

/** Runs a check or an import piece by piece; leaving the page stops it. `done` is the number of rows so far. */
function useImport(recordType: RecordType, table: CsvTable) {
  const [report, setReport] = useState<Report>();
  const [done, setDone] = useState<number>();
  const isLeft = useRef(false);
  useEffect(() => () => void (isLeft.current = true), []);
  const run = async ({ names, fit }: ReturnType<typeof makeRowFitter>, updates: boolean, isDry: boolean) => {
    const rejected: Rejection[] = [];
    const sum = { imported: 0, updated: 0, rejected, isDry };
    let fault: string | undefined;
    let last = 1;
    setReport(undefined);
    try {
      const findFault = makeFaultFinder(recordType, names, updates);
      for (const { rows, cells, faults } of piecesOf(table, fit, findFault)) {
        if (isLeft.current) return;
        setDone(sum.imported + sum.updated + rejected.length);
        const body = { recordType, file: table.name, fields: names, rows: cells, updates, isDry };
        const piece = await post('/imports', body);
        sum.imported += piece.imported;
        sum.updated += piece.updated;
        const wrong = piece.rejected.map(({ row, message }) => ({ row: rows[row]!, message }));
        rejected.push(...[...faults, ...wrong].toSorted((a, b) => a.row.rowNumber - b.row.rowNumber));
        last = rows.at(-1)!.rowNumber;
      }
    } catch (thrown) {
      fault = `Stopped after row ${last}. ${toApiError(thrown).message}`;
    }
    setDone(undefined);
    setReport({ ...sum, ...(fault !== undefined && { fault }) });
  };
  return { report, done, run, forget: () => setReport(undefined) };
}

function Outcome({
  report: { imported, updated, rejected, isDry, fault },
  table,
}: {
  report: Report;
  table: CsvTable;
}) {
  const download = () => {
    const rows = rejected.map(({ row, message }) => [...table.head.map((_, at) => row.cells[at] ?? ''), message]);
    downloadCSV(`rejected-${table.name}`, [...table.head, 'Reason'], rows);
  };
  const can = isDry ? 'can be ' : '';
  return (
    <Notice
      tone={fault === undefined && rejected.length === 0 ? 'good' : 'warn'}
      title={`${countOf(imported, 'row')} ${can}imported, ${updated} ${can}updated, ${rejected.length} rejected`}
      actions={rejected.length > 0 && <Button onClick={download}>Download rejected rows</Button>}
    >
      {fault ?? (isDry && 'Nothing has been imported yet.')}
      <ul>
        {rejected.slice(0, REJECTED_SHOWN).map(({ row, message }) => (
          <li key={row}>
            Row {row.rowNumber}: {message}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
