/** Tests how the command and the page Import read CSV: one list of cases for the module that both use. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { makeRowFitter, matchColumns } from '../../src/pims/csv/columns.ts';
import { readCsv, type CsvFormat } from '../../src/pims/csv/csv-reader.ts';
import { buildDictionaries } from '../../src/pims/rules/fields.ts';

const latin = (text: string) => Buffer.from(text, 'latin1');
const utf16 = (text: string) => Buffer.from(`\u{feff}${text}`, 'utf16le');
const utf16be = (text: string) => utf16(text).swap16();

/** Reads bytes in two chunks, and returns each row as its number and its cells or its fault. */
async function readRows(bytes: Buffer, cut = bytes.length) {
  const format: CsvFormat = {};
  const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)];
  const rows = (await Array.fromAsync(readCsv(() => chunks, format))).flat();
  return { format, rows: rows.map(({ rowNumber, cells, fault }) => `${rowNumber} ${fault ?? cells.join('|')}`) };
}
/** No header of the cases is longer. */
const HEADER_BYTES = 12;

/** The rows of each file, as the number in a spreadsheet and the cells or the beginning of the fault. */
const CASES: Record<string, [content: string | Buffer, ...rows: string[]]> = {
  'commas': ['A,B\n1,2\n', '1 A|B', '2 1|2'],
  'semicolons': ['A;B, b\n1;2,5\n', '1 A|B, b', '2 1|2,5'],
  'tabs': ['A\tB;C\n1\t2\n', '1 A|B;C', '2 1|2'],
  'bars': ['A|B|C\n1|2|3\n', '1 A|B|C', '2 1|2|3'],
  'a separator in quotes in the header': ['"A;;;",B\n1,2\n', '1 A;;;|B', '2 1|2'],
  'one column': ['A\nx\n', '1 A', '2 x'],
  'no line break at the end': ['A,B\n1,2', '1 A|B', '2 1|2'],
  'CR LF': ['A,B\r\n1,2\r\n', '1 A|B', '2 1|2'],
  'CR alone, as from Excel for Mac': ['A,B\r1,"2\r3"\r4,5\r', '1 A|B', '2 1|2\r3', '3 4|5'],
  'LF after CR LF': ['A,B\r\n1,2\n3,"4"\r\n5,"6"\n', '1 A|B', '2 1|2', '3 3|4', '4 5|6'],
  'a header over two lines': ['"A\na",B\r\n1,2\r\n', '1 A\na|B', '2 1|2'],
  'quotes': ['A,B\n"1, ""one""","2\r\ntwo"\n', '1 A|B', '2 1, "one"|2\r\ntwo'],
  'quotes before a line break': ['A,B\n1,"x ""y"",\nz"\n', '1 A|B', '2 1|x "y",\nz'],
  'a cell of several lines is in one row': ['A,B\n1,"x\ny\nz"\n2,y,z\n', '1 A|B', '2 1|x\ny\nz', '3 The row has 3 cells'],
  'empty rows count, but are no records': ['A,B\n\n,\n , \n1,2\n', '1 A|B', '5 1|2'],
  'empty rows above the header': [';\n\nA;B\n1;2\n', '3 A|B', '4 1|2'],
  'empty columns at the end': ['A,B,, \n1,2,,\n3,4\n5,6,7,\n', '1 A|B', '2 1|2', '3 3|4', '4 The row has 4 cells'],
  'a row with too few cells': ['A,B\n1\n', '1 A|B', '2 The row has 1 cells, but the first line has 2.'],
  'a quote inside a cell': ['A,B\n5" pipe,2\n3,4\n', '1 A|B', '2 There is a quote inside a cell, at line 2, column 2.', '3 3|4'],
  'text after a quote': ['A,B\n"x\ny"z,2\n3,4\n', '1 A|B', '2 There is text after a closing quote, at line 3, column 3.', '3 3|4'],
  'a quote that is never closed': ['A,B\n1,"2\n3,4\n', '1 A|B', '2 A quote in this row is never closed.'],
  'UTF-8': ['A\nSøren 東 𝒳\n', '1 A', '2 Søren 東 𝒳'],
  'UTF-8 with a byte order mark': ['\u{feff}A,B\n\u{feff}1,2\n', '1 A|B', '2 \u{feff}1|2'],
  'UTF-16': [utf16('A\tB\r\nSøren 東\t2\r\n'), '1 A|B', '2 Søren 東|2'],
  'UTF-16 of the other byte order': [utf16be('A\tB\r\nSøren 東\t2\r\n'), '1 A|B', '2 Søren 東|2'],
  'Windows-1252': [latin('A;B\r\n5 \x80;Stra\xdfe\r\n'), '1 A|B', '2 5 €|Straße'],
  'Windows-1252 in the last byte': [latin('A\ncaf\xe9'), '1 A', '2 café'],
  'both in one file': [Buffer.concat([Buffer.from('A\nçà\n'), latin('caf\xe9\n')]), '1 A', '2 çà', '3 The row is not in UTF-8'],
  'a replacement character': ['A\n\u{fffd}\n', '1 A', '2 \u{fffd}'],
  'marks before formulas': ["A,B\n'+49 30,'=1\n'-2,'@x\n", '1 A|B', '2 +49 30|=1', '3 -2|@x'],
  'marks before digits': ["A,B\n'01234,'90s\n", '1 A|B', "2 01234|'90s"],
  'marks after a line break or a semicolon': ['A\n"\'=1\n\'=2;\'=3 \'=4"\n', '1 A', "2 =1\n=2;=3 '=4"],
  'doubled marks': ["A,B\n''=1,''01\n", '1 A|B', "2 '=1|'01"],
  'nothing': [''],
}; // prettier-ignore

const FAULT = /^\d+ (The row|There is|A quote) /;

suite('CSV, for the command and the page', () => {
  for (const [what, [content, ...expected]] of Object.entries(CASES))
    test(what, async () => {
      const bytes = Buffer.from(content as string);
      const { rows } = await readRows(bytes);
      const beginnings = rows.map((row, at) => (FAULT.test(row) ? row.slice(0, expected[at]?.length) : row));
      assert.deepEqual(beginnings, expected);
      // A character, a line break or a quote may begin in one chunk and end in the next.
      for (let cut = HEADER_BYTES; cut < bytes.length; cut++)
        assert.deepEqual((await readRows(bytes, cut)).rows, rows, `cut at ${cut}`);
    });

  test('the reader says which encoding and separator it found', async () => {
    const found = async (bytes: Buffer) => {
      const { format } = await readRows(bytes);
      return `${format.encoding} ${format.separator}`;
    };
    assert.equal(await found(latin('A;B\n\xdf;1\n')), 'windows-1252 ;');
    assert.equal(await found(utf16('A\tB\n')), 'utf-16le \t');
    assert.equal(await found(Buffer.from('A\nß\n')), 'utf-8 ,');
  });

  test('a cell of millions of quotes is read', async () => {
    const { rows } = await readRows(Buffer.from(`A,B\n1,"${'""'.repeat(4_500_000)}"\n2,3\n`));
    assert.equal(rows[1]!.length, '2 1|'.length + 4_500_000);
  });

  /** Returns the names and the cells that an import takes from a file. */
  const fitRows = async (recordType: 'lines' | 'inventory', text: string, chosen: Record<string, string> = {}) => {
    const format: CsvFormat = {};
    const [head, ...rows] = (await Array.fromAsync(readCsv(() => [Buffer.from(text)], format))).flat();
    const known = buildDictionaries([])[recordType];
    const fields = matchColumns(head!.cells, known, new Map(Object.entries(chosen)));
    const { names, fit } = makeRowFitter(fields, known, recordType, format.separator);
    return [names, ...rows.map((row) => fit(row))].map((cells) => cells?.join('|'));
  };

  test('columns match the names of fields in any casing, or the chosen field; others are left out', async () => {
    const rows = await fitRows('inventory', 'part_code, Barcode ,Sku,Title\nA,1,B,x\n,,,y\n', { Sku: 'CATEGORY' });
    assert.deepEqual(rows, ['PART_CODE|BARCODE|CATEGORY', 'A|1|B', undefined]);
  });

  test('numbers have decimal commas if the separator is a semicolon', async () => {
    const cells = ['12,50', '-3,5', '1.234,5', '12.50', '1.2,3', '0', ',5'];
    const numbers = ['12.50', '-3.5', '1234.5', '12.50', '1.2,3', '0', ',5'];
    const rows = cells.map((cell) => `${cell};${cell}`);
    assert.deepEqual(
      (await fitRows('inventory', ['UNIT_PRICE;PART_CODE', ...rows].join('\n'))).slice(1),
      numbers.map((number, at) => `${number}|${cells[at]}`),
    );
    assert.deepEqual(await fitRows('inventory', 'UNIT_PRICE,PART_CODE\n"12,50",A\n'), [
      'UNIT_PRICE|PART_CODE',
      '12,50|A',
    ]);
  });

  test('a line without a number gets its place among the rows of its order, also after a row with a fault', async () => {
    const text = 'ORDER_NUMBER,QUANTITY\n1,5\n2,6\n1,7,8\n1,9\n';
    const places = ['ORDER_NUMBER|QUANTITY|LINE_NUMBER', '1|5|1', '2|6|1', '1|7|2', '1|9|3'];
    assert.deepEqual(await fitRows('lines', text), places);
    const mixed = 'ORDER_NUMBER,LINE_NUMBER\n1,\n1,7\n1,\n1,x\n1,\n';
    assert.deepEqual((await fitRows('lines', mixed)).slice(1), ['1|1', '1|7', '1|8', '1|x', '1|9']);
    const unknown = 'QUANTITY,ORDER_NUMBER\n1,1\n5"x,1\n2,1\n';
    assert.deepEqual((await fitRows('lines', unknown)).at(-1), '2|1|unknown');
  });
});
