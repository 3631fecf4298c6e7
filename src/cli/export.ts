/**
 * `storeroom export`: a tenant's records of one kind, as of one moment, as CSV that `import` takes back, or as one JSON object. Streams: waits for
 * a slow reader and stops when the reader has gone. Never holds more than a few hundred records.
 */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import Papa from 'papaparse';
import type { RecordType } from '../pims/fields.ts';
import { addCommand, answer, recordTypeArgument, type AnswerOptions, type CommandContext } from './command.ts';
import { withTenant } from './data.ts';

interface ExportOptions extends AnswerOptions {
  readonly output?: string;
}

interface Records {
  readonly names: string[];
  readonly chunks: AsyncIterable<string[][]>;
  /** How many were handed on. */
  count: number;
}

export function addExportCommand(program: Command, { environment }: CommandContext): void {
  addCommand(program, 'export <team>', {
    summary: 'Export records as CSV. With --json and without --output: as {"records":[…]}.',
    example: 'export acme orders > orders.csv',
  })
    .addArgument(recordTypeArgument('<type>'))
    .option('--output <file>', 'write to this file instead of standard output')
    .action(async (teamId: string, recordType: RecordType, options: ExportOptions) => {
      const { output } = options;
      const exported = await withTenant(environment, teamId, async ({ pims }) => {
        const records: Records = {
          names: [...(await pims.dictionaries())[recordType].keys()],
          chunks: pims.exportRows(recordType),
          count: 0,
        };
        if (output !== undefined) await pipeline(formatCsv(records), createWriteStream(output));
        else
          await pipeline(options.json ? writeJson(records) : formatCsv(records), process.stdout, { end: false }).catch(
            ignoreGoneReader,
          );
        return records.count;
      });
      if (output !== undefined)
        answer(
          options,
          { teamID: teamId, type: recordType, exported },
          `Exported ${exported} ${recordType} to ${output}.`,
        );
    });
}

function ignoreGoneReader(fault: NodeJS.ErrnoException): void {
  if (fault.code !== 'EPIPE') throw fault;
}

async function* formatCsv(records: Records): AsyncGenerator<string> {
  yield `${records.names.join(',')}\n`;
  for await (const rows of records.chunks) {
    records.count += rows.length;
    yield `${Papa.unparse(rows, { newline: '\n' })}\n`;
  }
}

async function* writeJson(records: Records): AsyncGenerator<string> {
  yield '{"records":[';
  let between = '';
  for await (const rows of records.chunks) {
    records.count += rows.length;
    yield (
      between +
        rows
          .map((cells) => JSON.stringify(Object.fromEntries(cells.map((cell, index) => [records.names[index]!, cell]))))
          .join(',')
    );
    between = ',';
  }
  yield ']}\n';
}
