// Compares CSV with Papa Parse: exports have the same bytes, and imports read what Papa Parse writes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import Papa from 'papaparse';
import { readCsv, writeCsv } from '../../src/cli/csv/csv-format.ts';
import { parseRecords } from '../../src/pims/rules/values.ts';
import { times } from '../kit/lists.ts';
import { NAUGHTY } from '../kit/naughty-strings.ts';

const COLUMNS = 3;
const NAMES = ['A', 'B', 'C'];
const TELLING = [' ', '"', ',', '\r', '\n', '\t', '\u{feff}', '\u{fffe}', '=', '+', '-', '@', "'", 'a', 'é', '東', '𝒳'];
const cell = fc.oneof(
  fc.array(fc.constantFrom(...TELLING), { maxLength: 4 }).map((characters) => characters.join('')),
  fc.constantFrom(...NAUGHTY.filter((text) => !text.includes('\0') && text.isWellFormed())),
  fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
);
const row = fc.array(cell, { minLength: COLUMNS, maxLength: COLUMNS });
const bytesOf = (rows: readonly string[][]): Uint8Array =>
  Buffer.from(
    rows
      .flat()
      .map((text) => `${text}\0`)
      .join(''),
  );

test('the CSV of an export has the bytes that Papa Parse writes, for spreadsheets too', () => {
  const check = (rows: string[][], forSpreadsheet: boolean): void => {
    const escapeFormulae = forSpreadsheet ? /^[=+\-@\t\r]/ : false;
    const { csv, records } = writeCsv(bytesOf(rows), COLUMNS, forSpreadsheet);
    assert.equal(records, rows.length);
    assert.equal(Buffer.from(csv).toString(), `${Papa.unparse(rows, { newline: '\n', escapeFormulae })}\n`);
  };
  fc.assert(fc.property(fc.array(row, { minLength: 1, maxLength: 20 }), fc.boolean(), check), { numRuns: 500 });
  // These texts grow the most in the CSV, relative to their bytes.
  for (const text of ['', '"', '=', '\r', ' '])
    check(
      times(500, () => [text, text, text]),
      true,
    );
});

test('the records of an export are read back from its cells', () => {
  const check = (rows: string[][]): void =>
    assert.deepEqual(
      parseRecords(bytesOf(rows), NAMES).map((record) => NAMES.map((name) => record[name])),
      rows,
    );
  fc.assert(fc.property(fc.array(row, { maxLength: 20 }), check));
});

test('the rows that Papa Parse writes are read back, with either line break', async () => {
  const check = async (rows: string[][], newline: string): Promise<void> => {
    const all = [NAMES, ...rows];
    const read = await Array.fromAsync(readCsv(Buffer.from(Papa.unparse(all, { newline }))));
    assert.deepEqual(
      read.flat().map(({ cells, fault }) => fault ?? cells),
      all,
    );
  };
  const newline = fc.constantFrom('\n', '\r\n');
  await fc.assert(fc.asyncProperty(fc.array(row, { maxLength: 20 }), newline, check), { numRuns: 500 });
});
