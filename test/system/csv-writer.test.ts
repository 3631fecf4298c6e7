// Compares CSV with Papa Parse: exports have the same bytes, and imports read what Papa Parse writes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import Papa from 'papaparse';
import { writeCsv } from '../../src/cli/csv/csv-writer.ts';
import { readCsv } from '../../src/pims/csv/csv-reader.ts';
import { guardFormulas, keepApostrophes, unguardFormulas } from '../../src/pims/csv/formulas.ts';
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

const NUMBER = /^-\d+(\.\d+)?$/;
/** Returns the places at which a spreadsheet that separates by commas, semicolons or tabs could begin a formula. */
const formulasOf = (text: string): number[] =>
  Array.from(text.matchAll(/[^]/g), ({ index }) => index).filter((index) => {
    const rest = text.slice(index);
    const isBegin = index === 0 || ';\t\r\n'.includes(text[index - 1]!);
    return isBegin && /^['"]*[=+\-@\t\r\n]|^'+\d+$/.test(rest) && !NUMBER.test(rest);
  });
const guard = (text: string): string => {
  const places = formulasOf(text);
  return Array.from({ length: text.length }, (_, at) => (places.includes(at) ? "'" : '') + text[at]).join('');
};

test('the CSV of an export has the bytes that Papa Parse writes, with marked formulas for spreadsheets', () => {
  const check = (rows: string[][], forSpreadsheet: boolean): void => {
    const { csv, records } = writeCsv(bytesOf(rows), COLUMNS, forSpreadsheet);
    assert.equal(records, rows.length);
    const mark = forSpreadsheet ? guard : keepApostrophes;
    const shown = rows.map((cells) => cells.map(mark));
    assert.equal(Buffer.from(csv).toString(), `${Papa.unparse(shown, { newline: '\n' })}\n`);
  };
  fc.assert(fc.property(fc.array(row, { minLength: 1, maxLength: 20 }), fc.boolean(), check), { numRuns: 500 });
  // These texts grow the most in the CSV, relative to their bytes.
  for (const text of ['', '"', '=', "'=", '\r', ' '])
    for (const forSpreadsheet of [true, false])
      check(
        times(500, () => [text, text, text]),
        forSpreadsheet,
      );
});

test('no spreadsheet finds a formula in an export for it, with any separator, and the marks can be removed', () => {
  const check = (rows: string[][]): void => {
    const text = Buffer.from(writeCsv(bytesOf(rows), COLUMNS, true).csv).toString();
    for (const cellOrPart of [...Papa.parse<string[]>(text).data.flat(), ...text.split(/[;\t\r\n]/)])
      assert.doesNotMatch(cellOrPart.replace(/^"+/, ''), /^(?!-\d+(\.\d+)?($|["',]))[=+\-@]/, JSON.stringify(text));
    for (const one of rows.flat()) {
      assert.equal(guardFormulas(one), guard(one), 'the pages mark the same cells');
      assert.equal(unguardFormulas(guard(one)), one);
      assert.equal(unguardFormulas(keepApostrophes(one)), one);
      if (!one.includes("'")) assert.equal(keepApostrophes(one), one);
    }
  };
  fc.assert(fc.property(fc.array(row, { minLength: 1, maxLength: 20 }), check), { numRuns: 500 });
  for (const text of [
    '\n=1',
    "x;=cmd|' /C calc'!A0;",
    'x;"=1"',
    "'=1",
    'x\t@1',
    'x\r\n+1',
    "'-1",
    "''01",
    '-12.5',
    '-1-1',
  ])
    check([[text, text, text]]);
  assert.equal(guardFormulas('-12.5'), '-12.5');
});

test('the records of an export are read back from its cells', () => {
  const check = (rows: string[][]): void =>
    assert.deepEqual(
      parseRecords(bytesOf(rows), NAMES).map((record) => NAMES.map((name) => record[name])),
      rows,
    );
  fc.assert(fc.property(fc.array(row, { maxLength: 20 }), check));
});

test('the output of an export is read back, and so is the one of Papa Parse, with either line break', async () => {
  const check = async (rows: string[][], newline: string, forSpreadsheet: boolean): Promise<void> => {
    // A row without any text is no record.
    const all = [NAMES, ...rows.map(([first, ...more]) => [`x${first}`, ...more])];
    const read = async (csv: string | Uint8Array) =>
      (await Array.fromAsync(readCsv(() => [Buffer.from(csv as string)], {}))).flat();
    const written = writeCsv(bytesOf(all), COLUMNS, forSpreadsheet).csv;
    const marked = all.map((cells) => cells.map(forSpreadsheet ? guard : keepApostrophes));
    for (const csv of [written, Papa.unparse(marked, { newline })])
      assert.deepEqual(
        (await read(csv)).map(({ cells, fault }) => fault ?? cells),
        all,
      );
  };
  const newline = fc.constantFrom('\n', '\r\n', '\r');
  await fc.assert(fc.asyncProperty(fc.array(row, { maxLength: 20 }), newline, fc.boolean(), check), { numRuns: 500 });
});
