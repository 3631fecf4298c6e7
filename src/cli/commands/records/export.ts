/**
 * `storeroom export`: writes the records of one type at one moment as CSV or JSON. It streams them, and waits for a
 * slow reader.
 */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { refuseCommand } from '../../../errors.ts';
import type { RecordType } from '../../../pims/rules/fields.ts';
import { parseRecords } from '../../../pims/rules/values.ts';
import { addCommand, printAnswer, recordTypeArgument, type AddCommands } from '../../command.ts';
import { writeCsv } from '../../csv/csv-format.ts';
import { withTenant } from '../../open-store.ts';

/** Maximum bytes that wait to be written while more records are read. */
const WRITE_AHEAD_BYTES = 1024 * 1024;

interface ExportedRecords {
  readonly names: string[];
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The number of formatted records. */
  count: number;
}

const DESCRIPTION = 'Export records as CSV, or with --json but without --output as {"records":[…]}.';

export const addExportCommand: AddCommands = (program, context) => {
  addCommand(program, 'export <team>', 'export acme orders > orders.csv', DESCRIPTION)
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
        const exported = await withTenant(context, teamId, async ({ pims }) => {
          const names = [...(await pims.dictionaries())[recordType].keys()];
          const records: ExportedRecords = { names, chunks: pims.exportRows(recordType), count: 0 };
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
