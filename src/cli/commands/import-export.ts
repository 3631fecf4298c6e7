/**
 * `storeroom export` and `import`: streams a snapshot of the records of one type as CSV or JSON, and imports one CSV
 * file, with a progress bar and a list of the rejected rows.
 */
import { createWriteStream, statSync } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { InvalidArgumentError, Option } from 'commander';
import { byOperator, entryBy } from '../../audit/audit.ts';
import { refuseCommand } from '../../errors.ts';
import type { CsvFormat } from '../../pims/csv/csv-reader.ts';
import type { RecordType } from '../../pims/rules/fields.ts';
import { parseRecords } from '../../pims/rules/values.ts';
import {
  addCommand,
  createProgressBar,
  printable,
  printAnswer,
  recordTypeArgument,
  timeOf,
  type AddCommands,
} from '../command.ts';
import { importCsv, type ImportReport, type ImportRequest } from '../csv/csv-import.ts';
import { writeCsv } from '../csv/csv-writer.ts';
import { withTenant } from '../open-store.ts';

/** Maximum bytes that wait to be written while more records are read. */
const WRITE_AHEAD_BYTES = 1024 * 1024;

interface ExportedRecords {
  readonly names: string[];
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The number of formatted records. */
  count: number;
}

const EXPORT_HELP = 'Export records as CSV. With --json and without --output, print {"records":[…]} instead.';

export const addExportCommand: AddCommands = (program, context) => {
  addCommand(program, 'export <team>', 'export acme orders > orders.csv', EXPORT_HELP)
    .addArgument(recordTypeArgument('<type>'))
    .option('--output <file>', 'write to this file instead of standard output')
    .option('--spreadsheet', "put ' before cells that a spreadsheet would run as formulas")
    .action(
      async (
        teamId: string,
        recordType: RecordType,
        { output, spreadsheet = false }: { output?: string; spreadsheet?: boolean },
      ) => {
        const { asJson } = context;
        if (spreadsheet && asJson && output === undefined)
          throw refuseCommand('--spreadsheet applies only to CSV. To use it with --json, also give --output.');
        const exported = await withTenant(context, teamId, async (pims) => {
          const names = [...(await pims.dictionaries())[recordType].keys()];
          const records: ExportedRecords = { names, chunks: pims.exportRows(recordType, names), count: 0 };
          if (output !== undefined)
            await pipeline(
              formatCsv(records, spreadsheet),
              createWriteStream(output, { highWaterMark: WRITE_AHEAD_BYTES }),
            );
          else await print(asJson ? formatJson(records) : formatCsv(records, spreadsheet));
          return records.count;
        });
        const object = { teamID: teamId, type: recordType, exported };
        if (output !== undefined) printAnswer(context, object, `Exported ${exported} ${recordType} to ${output}.`);
      },
    );
};

async function print(chunks: AsyncIterable<string | Uint8Array>) {
  await pipeline(chunks, process.stdout, { end: false }).catch((fault: NodeJS.ErrnoException) => {
    if (fault.code !== 'EPIPE') throw fault;
  });
}

async function* formatCsv(records: ExportedRecords, forSpreadsheet: boolean): AsyncGenerator<string | Uint8Array> {
  const { names, chunks } = records;
  yield `${names.join(',')}\n`;
  for await (const cells of chunks) {
    const written = writeCsv(cells, names.length, forSpreadsheet);
    records.count += written.records;
    yield written.csv;
  }
}

async function* formatJson(records: ExportedRecords): AsyncGenerator<string> {
  yield '{"records":[';
  let separator = '';
  for await (const cells of records.chunks) {
    const objects = parseRecords(cells, records.names);
    records.count += objects.length;
    yield separator + objects.map((object) => JSON.stringify(object)).join(',');
    separator = ',';
  }
  yield ']}\n';
}

const IMPORT_HELP =
  'Import CSV. The first line names the fields. Numbers, codes and dates in the file are kept. If a row is rejected, nothing is imported and the command exits with 1.';

export const addImportCommand: AddCommands = (program, context) => {
  addCommand(program, 'import <team>', 'import acme orders orders.csv', IMPORT_HELP)
    .addArgument(recordTypeArgument('<type>'))
    .argument('<file>', 'CSV')
    .option('--partial', 'import the other rows if some are rejected')
    // 0.1.0 imported parts of a file without this option.
    .addOption(new Option('--atomic').hideHelp())
    .option('--update', 'change existing customers or parts; QTY_ONHAND is entered as a count')
    .option('--dry-run', 'check all rows, and import none')
    .option('--map <field=column>', 'field of a column with another name (repeatable)', collectColumn)
    .option('--skip-unknown', 'leave out columns without a field, and list them')
    .option(
      '--separator <character>',
      "character between the cells, such as ';' or '\\t' (default: found in the file)",
      takeSeparator,
    )
    .addOption(new Option('--encoding <encoding>', 'encoding (default: found in the file)').choices(['utf8', 'latin1']))
    .action(async (teamId: string, recordType: RecordType, file: string, options: ImportFlags) => {
      const bytes = fileBytes(file);
      const bar = await createProgressBar();
      const now = timeOf(context.clock);
      const asked = { ...options, recordType, file, now, format: options, onRead: bar.advance };
      const importing = withTenant(context, teamId, (pims, store) => {
        bar.start(bytes);
        return importCsv(pims, {
          ...asked,
          onStored: ({ imported, updated, rejected }) => {
            const counts = { imported: String(imported), updated: String(updated), rejected: String(rejected) };
            const detail = { file: basename(file), ...counts };
            const actor = byOperator(context.clock.now());
            return store.audit.appendAudit(teamId, entryBy(actor, 'records imported', recordType, detail));
          },
        });
      });
      const report = await importing.finally(bar.stop);
      if (!context.asJson) printRejections(report);
      printAnswer(context, report, describeReport(report, asked));
      if (report.rejected > 0) context.exitCode = 1;
    });
};

type ImportFlags = CsvFormat & Pick<ImportRequest, 'partial' | 'skipUnknown' | 'dryRun' | 'update' | 'map'>;

function takeSeparator(text: string): string {
  const separator = text === String.raw`\t` ? '\t' : text;
  if (/^[^"\r\n]$/.test(separator)) return separator;
  throw new InvalidArgumentError('It must be one character, but not a quote or a line break.');
}

function collectColumn(text: string, before = new Map<string, string>()): Map<string, string> {
  const [, field, column] = /^([A-Z0-9_]+)=(.+)$/.exec(text) ?? [];
  if (field === undefined || column === undefined)
    throw new InvalidArgumentError('It must be a field and a column, such as PART_CODE=SKU.');
  if (before.has(column)) throw new InvalidArgumentError(`The column ${column} is a field already.`);
  return before.set(column, field);
}

function fileBytes(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found || found.isDirectory()) throw refuseCommand(`There is no file '${file}'.`);
  return found.size;
}

function printRejections({ rejected, rejections, skipped }: ImportReport) {
  if (skipped.length > 0) process.stderr.write(`Columns left out: ${skipped.map(printable).join(', ')}\n`);
  for (const { row, reason } of rejections) process.stderr.write(`row ${row}: ${printable(reason)}\n`);
  if (rejected > rejections.length) process.stderr.write(`… and ${rejected - rejections.length} more.\n`);
}

function describeReport(report: ImportReport, { recordType, partial, dryRun, update: updates }: ImportRequest): string {
  const { imported, updated, rejected, seconds, rowsPerSecond } = report;
  const update = updates ? `, ${dryRun ? 'update' : 'updated'} ${updated}` : '';
  if (!partial && rejected > 0)
    return 'Nothing was imported. Correct the rejected rows, or give --partial to import the others.';
  if (dryRun)
    return `Nothing was imported. The import would add ${imported} ${recordType}${update}, and reject ${rejected}.`;
  return `Imported ${imported} ${recordType}${update}, rejected ${rejected}, in ${seconds} s (${rowsPerSecond} rows a second).`;
}
