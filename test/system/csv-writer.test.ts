// Compares CSV with Papa Parse: exports have the same bytes, and imports read what Papa Parse writes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import Papa from 'papaparse';
import { guardFormula } from '../../dashboard/src/api/guard-formula.ts';
import { readCsv, writeCsv } from '../../src/cli/csv/csv-format.ts';
import { parseRecords } from '../../src/pims/rules/values.ts';
import { times } from '../kit/lists.ts';
import { NAUGHTY } from '../kit/naughty-strings.ts';

const COLUMNS = 3;
const NAMES = ['A', 'B', 'C'];
const TELLING = [
  ' ',
  '"',
  ',',
  ';',
  '\r',
  '\n',
  '\t',
  '\u{feff}',
  '\u{fffe}',
  '=',
  '+',
  '-',
  '@',
  "'",
  'a',
  'é',
  '東',
  '𝒳',
];
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

/** Returns the places at which a spreadsheet that separates by commas, semicolons or tabs could begin a formula. */
const formulasOf = (text: string): number[] =>
  Array.from(text.matchAll(/[^]/g), ({ index }) => index).filter(
    (index) => (index === 0 || ';\t\r\n'.includes(text[index - 1]!)) && /^['"]*[=+\-@\t\r\n]/.test(text.slice(index)),
  );
const guard = (text: string): string => {
  const places = formulasOf(text);
  return Array.from({ length: text.length }, (_, at) => (places.includes(at) ? "'" : '') + text[at]).join('');
};
/** Removes what `guard` adds, as a reader can. */
const unguard = (guarded: string): string => {
  const places = formulasOf(guarded);
  return Array.from({ length: guarded.length }, (_, at) => (places.includes(at) ? '' : guarded[at])).join('');
};

test('the CSV of an export has the bytes that Papa Parse writes, for spreadsheets with marked formulas', () => {
  const check = (rows: string[][], forSpreadsheet: boolean): void => {
    const { csv, records } = writeCsv(bytesOf(rows), COLUMNS, forSpreadsheet);
    assert.equal(records, rows.length);
    const shown = forSpreadsheet ? rows.map((cells) => cells.map(guard)) : rows;
    assert.equal(Buffer.from(csv).toString(), `${Papa.unparse(shown, { newline: '\n' })}\n`);
  };
  fc.assert(fc.property(fc.array(row, { minLength: 1, maxLength: 20 }), fc.boolean(), check), { numRuns: 500 });
  // These texts grow the most in the CSV, relative to their bytes.
  for (const text of ['', '"', '=', '\r', ' '])
    check(
      times(500, () => [text, text, text]),
      true,
    );
});

test('no spreadsheet reads a formula in an export for it, whatever separates its cells, and the marks can be removed', () => {
  const check = (rows: string[][]): void => {
    const text = Buffer.from(writeCsv(bytesOf(rows), COLUMNS, true).csv).toString();
    for (const cellOrPart of [...Papa.parse<string[]>(text).data.flat(), ...text.split(/[;\t\r\n]/)])
      assert.doesNotMatch(cellOrPart.replace(/^"+/, ''), /^[=+\-@]/, JSON.stringify(text));
    for (const one of rows.flat()) {
      assert.equal(unguard(guard(one)), one);
      if (!/^-?\d+(\.\d+)?$/.test(one)) assert.equal(guardFormula(one), guard(one), 'the pages mark the same cells');
    }
  };
  fc.assert(fc.property(fc.array(row, { minLength: 1, maxLength: 20 }), check), { numRuns: 500 });
  for (const text of ['\n=1', "x;=cmd|' /C calc'!A0;", 'x;"=1"', "'=1", 'x\t@1', 'x\r\n+1'])
    check([[text, text, text]]);
  assert.equal(guardFormula('-12.5'), '-12.5');
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
