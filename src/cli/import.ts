/**
 * `storeroom import`: one CSV file into a tenant's records, with a bar on a terminal while it runs and the rejected rows at the end.
 * The importing itself is import-file.ts.
 */
import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { Refusal } from '../errors.ts';
import type { RecordType } from '../pims/fields.ts';
import { addCommand, answer, recordTypeArgument, type AnswerOptions, type CommandContext } from './command.ts';
import { withTenant } from './data.ts';
import { importFile, type ImportReport, type ImportRequest } from './import-file.ts';
import { printable } from './table.ts';

interface ImportOptions extends AnswerOptions {
  readonly atomic?: true;
}

interface ProgressBar {
  readonly advance: (bytes: number) => void;
  readonly stop: () => void;
}

export function addImportCommand(program: Command, context: CommandContext): void {
  addCommand(program, 'import <team>', {
    summary:
      'Import records from CSV. The first line names the fields; keys and dates are taken as given. Ends with 1 if a row was rejected.',
    example: 'import acme orders orders.csv',
  })
    .addArgument(recordTypeArgument('<type>'))
    .argument('<file>', 'CSV in UTF-8')
    .option('--atomic', 'import all rows, or none if one is rejected')
    .action(async (teamId: string, recordType: RecordType, file: string, options: ImportOptions) => {
      const bar = await startBar(findSize(file));
      const now = new Date().toISOString();
      const request = { recordType, file, now, atomic: options.atomic === true, onRead: bar.advance };
      const report = await withTenant(context.environment, teamId, ({ pims }) => importFile(pims, request)).finally(
        bar.stop,
      );
      if (!options.json) writeRejections(report);
      answer(options, { ...report }, describe(report, request));
      if (report.rejected > 0) context.exitCode = 1;
    });
}

function findSize(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found || found.isDirectory()) throw new Refusal('COMMAND_REFUSED', `There is no file '${file}'.`);
  return found.size;
}

/** A bar on standard error, by bytes of the file; nothing where nobody watches. */
async function startBar(bytes: number): Promise<ProgressBar> {
  if (!process.stderr.isTTY) return { advance: () => undefined, stop: () => undefined };
  const { default: progress } = await import('cli-progress');
  const bar = new progress.SingleBar(
    { format: '{bar} {percentage} %  {eta_formatted} left', clearOnComplete: true },
    progress.Presets.shades_classic,
  );
  bar.start(bytes, 0);
  return { advance: (more) => bar.increment(more), stop: () => bar.stop() };
}

function writeRejections({ rejected, rejections }: ImportReport): void {
  for (const { line, reason } of rejections) process.stderr.write(`line ${line}: ${printable(reason)}\n`);
  if (rejected > rejections.length) process.stderr.write(`… and ${rejected - rejections.length} more.\n`);
}

function describe(
  { imported, rejected, seconds, rowsPerSecond }: ImportReport,
  { recordType, atomic }: ImportRequest,
): string {
  if (atomic && rejected > 0)
    return `Nothing was imported: ${rejected} rows were rejected, and --atomic takes all or none.`;
  return `Imported ${imported} ${recordType}, rejected ${rejected}, in ${seconds} s (${rowsPerSecond} rows a second).`;
}
