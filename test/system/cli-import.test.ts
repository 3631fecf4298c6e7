/**
 * Tests import, export, backup and restore: what goes in comes out again, and what cannot go in is reported with its
 * line and the reason.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import Papa from 'papaparse';
import { createDemo } from '../../src/cli/serve/demo-tenant.ts';
import type { RecordType } from '../../src/pims/rules/fields.ts';
import type { PimsStore } from '../../src/pims/pims-port.ts';
import { parseRecords } from '../../src/pims/rules/values.ts';
import type { SqliteStore } from '../../src/store/sqlite/store.ts';
import { openFolder } from '../store/sqlite-folder.ts';
import { timeAt } from '../kit/clock.ts';
import { cellsOf, times, valuesOf } from '../kit/lists.ts';
import { openCommandLine, readOneObject, type CommandLine } from '../kit/cli-process.ts';

interface Report {
  imported: number;
  rejected: number;
  rejections: { row: number; reason: string; field?: string }[];
  skipped: string[];
}
type Values = Record<string, string>;
type Records = { records: Values[] };

/**
 * The types in the order of import: lines after their orders, and parts after the lines that commit them, so that the
 * dates of parts stay as given.
 */
const TYPES = ['customers', 'orders', 'lines', 'inventory'];

/** Imports with --json, and returns the exit code with the report. */
async function importRows({ run, file }: CommandLine, type: string, csv: string | Buffer, ...options: string[]) {
  const { exitCode, out, err } = await run('import acme', type, file('rows.csv', csv), ...options, '--json');
  assert.equal(err, '');
  const { imported, rejected, rejections } = readOneObject<Report>(out);
  return { exitCode, imported, rejected, rows: valuesOf(rejections, 'row'), rejections };
}

/** Imports the good rows. */
const importPartly = (line: CommandLine, type: string, csv: string | Buffer) =>
  importRows(line, type, csv, '--partial');

suite('import, beside a running service', () => {
  const line = openCommandLine();
  // All these imports run beside a service that holds the folder.
  let service: SqliteStore;
  let pims: PimsStore;
  const exportRows = async (type: RecordType): Promise<Values[]> => {
    const names = [...(await pims.dictionaries())[type].keys()];
    return (await Array.fromAsync(pims.exportRows(type, names))).flatMap((cells) => parseRecords(cells, names));
  };

  before(async () => {
    await line.ask('tenant create acme --name Acme --create');
    service = openFolder(line.data, { busyTimeoutMs: 5000 });
    service.lock();
    pims = service.pims((await service.tenants.findTenant('acme'))!);
  });
  after(() => service.close());

  test('a dry run reports which rows would be imported and which not, and imports none', async () => {
    const earlier = await exportRows('customers');
    const csv = 'CUSTOMER_CODE,CREDIT_LIMIT\nDRY-1,5\nDRY-2,much\nDRY-1,6\n';
    const { exitCode, imported, rejected, rows } = await importRows(line, 'customers', csv, '--dry-run');
    assert.deepEqual([exitCode, imported, rejected, rows], [1, 1, 2, [3, 4]]);
    assert.deepEqual(await exportRows('customers'), earlier);
    const next = await line.ask<Report>('import acme customers', line.file('rows.csv', 'CUSTOMER_NAME\nNext\n'));
    assert.equal(next.imported, 1);
  });

  test('an import that updates says how many records it changed, and a dry run how many it would', async () => {
    const first = line.file('rows.csv', 'CUSTOMER_CODE,CUSTOMER_NAME\nUP-1,Ann\n');
    await line.ask('import acme customers', first);
    const csv = line.file('rows.csv', 'CUSTOMER_CODE,CUSTOMER_NAME\nUP-1,Anna\nUP-2,Bo\n');
    const dry = await line.run('import acme customers', csv, '--update', '--dry-run');
    assert.equal(dry.out.trim(), 'Nothing was imported. The import would add 1 customers, update 1, and reject 0.');
    const done = await line.run('import acme customers', csv, '--update');
    assert.match(done.out, /^Imported 1 customers, updated 1, rejected 0, in /);
    const refused = await line.refused('import acme orders', line.file('rows.csv', 'PO_NUMBER\n1\n'), '--update');
    assert.equal(refused.message, 'Only customers and inventory can be updated by an import.');
  });

  test('columns with other names can be mapped; --skip-unknown leaves out unknown ones and lists them', async () => {
    const csv = 'Sku,Name\nMAP-1,Lamp\n';
    const map = ['--map', 'CUSTOMER_CODE=Sku', '--map', 'CUSTOMER_NAME=Name'];
    const { imported } = await importRows(line, 'customers', csv, ...map);
    assert.equal(imported, 1);
    const mapped = (await exportRows('customers')).find(({ CUSTOMER_CODE }) => CUSTOMER_CODE === 'MAP-1');
    assert.equal(mapped?.['CUSTOMER_NAME'], 'Lamp');
    const refuse = async (text: string, ...options: string[]): Promise<string> =>
      (await line.refused('import acme inventory', line.file('rows.csv', text), ...options)).message;
    assert.match(
      await refuse('PART_CODE\nX\n', '--map', 'BARCODE=Ean'),
      /the column 'Ean', which the first line does not have/,
    );
    const twice = ['--map', 'PART_CODE=Ean', '--map', 'BARCODE=Ean'];
    const again = await line.run('import acme inventory', line.file('rows.csv', 'Ean\nX\n'), ...twice);
    assert.equal(again.exitCode, 2);
    assert.match(again.err, /The column Ean is a field already/);
    assert.match(await refuse('A,B\nX,1\n', '--separator', ';'), /has no field 'A,B'/);
    assert.match(await refuse('PART_CODE,,BARCODE\nX,,1\n'), /has no field 'column 2'/);
    assert.match(await refuse('Ean,Title\nX,1\n', '--skip-unknown'), /has no field 'Ean'/);
    const shop = line.file('shop.csv', 'Part_Code,,Title,BARCODE,\nSKIP-1,x,y,5,\n,,no record,,\n');
    assert.match(await refuse('Part_Code,Title\nSKIP-1,y\n'), /has no field 'Title'/);
    const told = await line.run('import acme inventory', shop, '--skip-unknown', '--dry-run');
    assert.match(told.out, /add 1 inventory, and reject 0\.\n$/);
    assert.match(told.err, /\nColumns left out: , Title\n$/);
    const { imported: taken, skipped } = await line.ask<Report>('import acme inventory', shop, '--skip-unknown');
    assert.deepEqual([taken, skipped], [1, ['', 'Title']]);
    const { exitCode, err } = await line.run('import acme inventory rows.csv --separator ;;');
    assert.equal(exitCode, 2);
    assert.match(err, /must be one character/);
  });

  test('a file with semicolons or tabs, in Latin-1, is imported, also if the options say so', async () => {
    for (const [separator, flag] of Object.entries({ ';': ';', '\t': String.raw`\t` })) {
      const rows = [
        ['CUSTOMER_CODE', 'CUSTOMER_NAME', 'NOTES'],
        [`L${separator.codePointAt(0)}`, '"Stra\u{df}e; \t, 5"', '\u{80}'],
      ];
      const bytes = Buffer.from(rows.map((row) => `${row.join(separator)}\r\n`).join(''), 'latin1');
      const flags = ['--separator', flag, '--encoding', 'latin1'];
      for (const given of [['--dry-run'], flags]) {
        const { imported, rejections } = await importRows(line, 'customers', bytes, ...given);
        assert.deepEqual([imported, rejections], [1, []]);
      }
      const kept = (await exportRows('customers')).find((each) => each['CUSTOMER_CODE'] === rows[1]![0]);
      assert.deepEqual(cellsOf(kept!, 'CUSTOMER_NAME NOTES'), ['Stra\u{df}e; \t, 5', '\u{20ac}']);
    }
  });

  // Holds S13.4, S13.8.
  test('keys and dates of the file are kept, values as from a caller; an empty last row does not count', async () => {
    const csv =
      '\u{feff}ORDER_NUMBER,ORDER_DATE,FREIGHT,DROP_SHIP,NOTES,CREATE_DATE\r\n' +
      '500,3/4/2026,07.50,true,"two\r\nlines, ""quoted""",2020-01-01T00:00:00Z\r\n';
    const report = { exitCode: 0, imported: 1, rejected: 0, rows: [], rejections: [] };
    assert.deepEqual(await importRows(line, 'orders', csv), report);
    const [order] = await exportRows('orders');
    const keyAndDates = cellsOf(order!, 'ORDER_NUMBER ORDER_TYPE ORDER_DATE CREATE_DATE');
    assert.deepEqual(keyAndDates, ['500', 'worksheet', '03/04/2026', '2020-01-01T00:00:00.000Z']);
    assert.deepEqual(cellsOf(order!, 'FREIGHT DROP_SHIP NOTES'), ['7.5', 'Y', 'two\r\nlines, "quoted"']);
  });

  // Holds S13.4.
  test('rejected rows are reported with row, reason and field; --partial imports the others and ends with 1', async () => {
    const good = ['ORDER_NUMBER,ORDER_DATE,NOTES', '600,1/1/2026,"one\ntwo\nthree"'];
    const rows = [...good, '601,2/30/2026,', '602', '', '600,,again', '603,,'];
    const { exitCode, imported, rejections, rows: told } = await importPartly(line, 'orders', `${rows.join('\n')}\n`);
    // A cell of three lines is in one row, and an empty row counts.
    assert.deepEqual([exitCode, imported, told], [1, 2, [3, 4, 6]]);
    assert.deepEqual(valuesOf(rejections, 'field'), ['ORDER_DATE', undefined, 'ORDER_NUMBER']);
    assert.match(rejections[0]!.reason, /ORDER_DATE must be a date that exists/);
    assert.match(rejections[1]!.reason, /1 cells, but the first line has 3/);
  });

  test('every row with the same bad cell is rejected, also right below the first', async () => {
    const rows = ['ORDER_NUMBER,FREIGHT', '650,ten', '651,ten', '652,1', '653,ten', '654,1'];
    const { imported, rejections } = await importPartly(line, 'orders', `${rows.join('\n')}\n`);
    assert.equal(imported, 2);
    assert.deepEqual(
      rejections.map(({ row, field }) => [row, field]),
      [2, 3, 5].map((at) => [at, 'FREIGHT']),
    );
  });

  test('without --json every rejected row is a line on standard error', async () => {
    const file = line.file('rows.csv', 'ORDER_NUMBER,FREIGHT\n700,1\n701,\u{1b}[31mten\n');
    const none = await line.run('import acme orders', file);
    assert.match(none.out, /^Nothing was imported\. Correct the rejected rows, or give --partial /);
    const { exitCode, out, err } = await line.run('import acme orders', file, '--partial');
    assert.equal(exitCode, 1);
    assert.match(out, /^Imported 1 orders, rejected 1, in /);
    assert.match(
      err,
      /^Store: .*\nrow 3: FREIGHT must be a decimal number such as '3' or '1.5', not '\u{fffd}\[31mten'\.\n$/u,
    );
  });

  const BAD_VALUE = 'ORDER_NUMBER,FREIGHT\n800,1\n801,ten\n802,1\n';
  const BAD_KEY = 'ORDER_NUMBER,FREIGHT\n800,1\n800,1\n802,1\n';
  for (const [kind, csv] of Object.entries({ value: BAD_VALUE, key: BAD_KEY }))
    test(`a file with one bad ${kind} writes nothing, and every bad row is reported`, async () => {
      const was = await exportRows('orders');
      const { exitCode, imported, rejected, rows } = await importRows(line, 'orders', csv);
      assert.deepEqual([exitCode, imported, rejected, rows], [1, 0, 1, [3]]);
      assert.deepEqual(await exportRows('orders'), was);
    });

  test('good rows are all written, also with --atomic, which 0.1.0 had', async () => {
    const { exitCode, imported } = await importRows(line, 'orders', 'ORDER_NUMBER\n800\n801\n', '--atomic');
    assert.deepEqual([exitCode, imported], [0, 2]);
  });

  test('a row of only commas is skipped, and with --update a row without a key is rejected', async () => {
    const { imported, rejected } = await importRows(
      line,
      'customers',
      'CUSTOMER_CODE,CUSTOMER_NAME\nEMPTY,x\n,\n , \n',
    );
    assert.deepEqual([imported, rejected], [1, 0]);
    const csv = 'CUSTOMER_CODE,NOTES\nEMPTY,y\n,internal remark\n';
    const was = await exportRows('customers');
    const { rejections } = await importRows(line, 'customers', csv, '--update');
    assert.deepEqual(rejections, [{ row: 3, reason: 'CUSTOMER_CODE is required.', field: 'CUSTOMER_CODE' }]);
    assert.deepEqual(await exportRows('customers'), was);
  });

  test('lines without LINE_NUMBER are not doubled by a second import, corrected or extended', async () => {
    await importRows(line, 'orders', 'ORDER_NUMBER\n1500\n1501\n');
    const fileOf = (...quantities: string[]) =>
      [
        'ORDER_NUMBER,PART_CODE,QUANTITY',
        ...quantities.map((quantity, at) => `${1500 + (at % 2)},P${at},${quantity}`),
        '',
      ].join('\n');
    const lines = async () =>
      (await exportRows('lines'))
        .filter(({ ORDER_NUMBER }) => ORDER_NUMBER === '1500' || ORDER_NUMBER === '1501')
        .map((each) => cellsOf(each, 'ORDER_NUMBER LINE_NUMBER PART_CODE QUANTITY').join(' '));
    const bad = await importRows(line, 'lines', fileOf('3', '4', 'x', '5'));
    assert.deepEqual([bad.imported, bad.rows, await lines()], [0, [4], []]);
    assert.equal((await importPartly(line, 'lines', fileOf('3', '4', 'x', '5'))).imported, 3);
    const corrected = await importPartly(line, 'lines', fileOf('3', '4', '2', '5'));
    assert.deepEqual([corrected.imported, corrected.rows], [1, [2, 3, 5]]);
    assert.equal(corrected.rejections[0]!.reason, 'Order 1500 already has a line 1.');
    const all = ['1500 1 P0 3', '1500 2 P2 2', '1501 1 P1 4', '1501 2 P3 5'];
    assert.deepEqual((await lines()).toSorted(), all);
    const again = await importRows(line, 'lines', fileOf('3', '4', '2', '5'));
    assert.deepEqual([again.exitCode, again.imported, again.rejected], [1, 0, 4]);
    assert.equal((await importPartly(line, 'lines', fileOf('3', '4', '2', '5', '6'))).imported, 1);
    assert.deepEqual((await lines()).toSorted(), [...all.slice(0, 2), '1500 3 P4 6', ...all.slice(2)]);
  });

  const HEADERS = {
    'a field that is not known, naming the nearest': ['ORDER_NUMER,NOTES', 'ORDER_NUMBER'],
    FUNCTION: ['ORDER_NUMBER,FUNCTION', 'FUNCTION'],
    'a field named twice': ['ORDER_NUMBER,NOTES,NOTES', 'NOTES'],
    nothing: ['', 'empty'],
  };
  for (const [what, [header = '', word = '']] of Object.entries(HEADERS))
    test(`a header with ${what} refuses the whole file before anything is written`, async () => {
      const was = await exportRows('orders');
      const file = line.file('rows.csv', header && `${header}\n900,a,b\n`);
      const { message } = await line.refused('import acme orders', file);
      assert.match(message, new RegExp(word));
      assert.deepEqual(await exportRows('orders'), was);
    });

  test('rows that are not UTF-8, or whose quotes do not close, are rejected and never stored garbled', async () => {
    const header = 'ORDER_NUMBER,NOTES\n';
    const latin = Buffer.concat([Buffer.from(`${header}910,caf\u{e9}\n`), Buffer.from('914,caf\xe9\n', 'latin1')]);
    assert.deepEqual((await importPartly(line, 'orders', latin)).rows, [3]);
    const open = `${header}911,\u{fffd}\n912,"a"b\n913,"open\n`;
    assert.deepEqual((await importPartly(line, 'orders', open)).rows, [3, 4]);
    const orders = (await exportRows('orders')).filter((order) => order['ORDER_NUMBER']!.startsWith('91'));
    assert.deepEqual(valuesOf(orders, 'NOTES'), ['caf\u{e9}', '\u{fffd}']);
  });

  // Holds S13.7.
  test('a missing file, team or type is refused', async () => {
    assert.match((await line.refused('import acme orders /nowhere.csv')).message, /There is no file '\/nowhere\.csv'/);
    const file = line.file('rows.csv', 'NOTES\n');
    assert.equal((await line.refused('import nobody orders', file)).code, 'TENANT_NOT_FOUND');
  });

  test('lines belong to existing orders, and commit the stock of sales orders', async () => {
    await importRows(line, 'inventory', 'PART_CODE,QTY_ONHAND,QTY_COMMITTED,QTY_AVAILABLE\nMB/14,10,99,99\n');
    await importRows(line, 'orders', 'ORDER_NUMBER,ORDER_TYPE\n1000,sales_order\n1001,quote\n');
    const rows = ['ORDER_NUMBER,PART_CODE,QUANTITY', '1000,MB/14,3', '1001,MB/14,50', '1000,MB/14,1.5', '1999,MB/14,1'];
    const { imported, rows: told } = await importPartly(line, 'lines', `${rows.join('\n')}\n`);
    assert.deepEqual([imported, told], [3, [5]]);
    const [part] = await exportRows('inventory');
    assert.deepEqual(cellsOf(part!, 'QTY_ONHAND QTY_COMMITTED QTY_AVAILABLE'), ['10', '4.5', '5.5']);
  });

  const QUOTES: Record<string, [row: string, line: number, column: number]> = {
    'a space before an opening quote': ['Z1,"ok",x, "x",Y', 2, 12],
    'a space after a closing quote': ['"Z1" ,x,x,x,x', 2, 5],
    'a quote in a cell without quotes': ['Z1,ok,ok,5" pipe,ok', 2, 11],
    'a quote in the first cell': ['Z"1,x,x,x,x', 2, 2],
    'a quote in the last cell': ['Z1,x,x,x,x"', 2, 11],
    'text after a closing quote, on a later line': ['Z1,"two\nlines","a"b,x,x', 3, 11],
  };
  for (const [what, [row, at, column]] of Object.entries(QUOTES))
    test(`${what} rejects the row with line and column`, async () => {
      const was = await exportRows('inventory');
      const csv = `PART_CODE,PART_DESCRIPTION,BARCODE,CATEGORY,LOCATION_CODE\n${row}\n"Q${at}","say ""x""",,,\n`;
      const { exitCode, imported, rows, rejections } = await importRows(line, 'inventory', csv);
      assert.deepEqual([exitCode, imported, rows], [1, 0, [2]]);
      assert.ok(rejections[0]!.reason.includes(` at line ${at}, column ${column}. `), rejections[0]!.reason);
      assert.deepEqual(await exportRows('inventory'), was);
    });

  test('files longer than a chunk and a batch are imported whole and in order', async () => {
    const notes = 'A note, "quoted",\nover lines. '.repeat(4).replaceAll('"', '""');
    const rows = times(5000, (index) => `${20_000 + index},"${index} ${notes}"\n`);
    rows[4000] = '24000,"never\nin order,x"\n24000,twice\n';
    const { imported, rows: told } = await importPartly(line, 'orders', `ORDER_NUMBER,NOTES\n${rows.join('')}`);
    // A header, 4,000 rows of five lines and a row of two lines are before the rejected row.
    assert.deepEqual([imported, told], [5000, [1 + 4000 + 2]]);
    const orders = (await exportRows('orders')).filter((order) => Number(order['ORDER_NUMBER']) >= 20_000);
    assert.equal(orders.length, 5000);
    assert.equal(orders[4999]!['NOTES'], `4999 ${notes.replaceAll('""', '"')}`);
  });
});

suite('round trips', () => {
  const source = openCommandLine();
  const target = openCommandLine();
  const read = ({ run }: CommandLine, team: string, type: string): Promise<string> =>
    run('export', team, type).then(({ out }) => out);
  let exported: string[];
  /** Returns the types whose records are not the same as those of the demo tenant. */
  const findDifferences = async (line: CommandLine, team: string): Promise<string[]> => {
    const texts = await Promise.all(TYPES.map((type) => read(line, team, type)));
    return TYPES.filter((_, index) => texts[index] !== exported[index]);
  };

  test('the demo tenant has every row of its files', async () => {
    mkdirSync(source.data);
    const store = openFolder(source.data, { busyTimeoutMs: 5000 });
    const { keys } = await createDemo(store, timeAt());
    assert.match(keys.apiID, /^sr_id_/);
    await assert.rejects(() => createDemo(store, timeAt()), /in use/);
    await store.close();
    exported = await Promise.all(TYPES.map((type) => read(source, 'demo', type)));
    const records = await Promise.all(TYPES.map((type) => source.ask<Records>('export demo', type)));
    const counts = records.map(({ records: { length } }) => length);
    assert.deepEqual(counts, [91 + 8, 830 + 14, 2155 + 35, 77 + 15]);
  });

  // Holds S13.5.
  test('an exported tenant, imported again, exports the same', async () => {
    await target.ask('tenant create copy --name Copy --create');
    for (const [index, type] of TYPES.entries())
      await target.ask('import copy', type, target.file(`${type}.csv`, exported[index]!));
    assert.deepEqual(await findDifferences(target, 'copy'), []);
  });

  test('an export into a file says how many records it has', async () => {
    const file = source.file('orders.csv', '');
    const answer = { teamID: 'demo', type: 'orders', exported: 844 };
    assert.deepEqual(await source.ask('export demo orders --output', file), answer);
    assert.ok(readFileSync(file, 'utf8') === exported[1]);
  });

  test('--spreadsheet puts an apostrophe before formulas, after line breaks and semicolons too; without it all bytes stay', async () => {
    const line = openCommandLine();
    await line.ask('tenant create acme --name Acme --create');
    const cells = [
      '=1+1',
      '+1',
      '-1',
      '@A1',
      '\t=1',
      '\r=1',
      '=1\n=2',
      '\n=1',
      "x;=cmd|' /C calc'!A0;",
      '"=1"',
      "'=1",
      ' =1',
      'a=1',
      '1-1',
      '',
      '=',
      'é',
    ];
    const quote = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;
    const csv = cells.map((cell, index) => `P${index + 10},${quote(cell.replace(/^'/, "''"))}\n`).join('');
    await line.ask('import acme inventory', line.file('parts.csv', `PART_CODE,PART_DESCRIPTION\n${csv}`));
    const file = line.file('out.csv', '');
    const readBack = async (): Promise<string[]> => {
      const { data } = Papa.parse<Values>(readFileSync(file, 'utf8'), { header: true, skipEmptyLines: true });
      return valuesOf(data, 'PART_DESCRIPTION');
    };
    await line.ask('export acme inventory --spreadsheet --output', file);
    const marked = [
      "'=1+1",
      "'+1",
      '-1',
      "'@A1",
      "'\t'=1",
      "'\r'=1",
      "'=1\n'=2",
      "'\n'=1",
      "x;'=cmd|' /C calc'!A0;",
      '\'"=1"',
      "''=1",
    ];
    assert.deepEqual(await readBack(), [...marked, ' =1', 'a=1', '1-1', '', "'=", 'é']);
    assert.equal((await line.run('export acme inventory --spreadsheet')).out, readFileSync(file, 'utf8'));
    await line.ask('export acme inventory --output', file);
    // An apostrophe that an import would take for a mark is doubled.
    assert.deepEqual(
      await readBack(),
      cells.map((cell) => (cell === "'=1" ? "''=1" : cell)),
    );
    assert.match((await line.refused('export acme inventory --spreadsheet')).message, /also give --output/);
  });

  test('an export ends quietly when its reader has read enough', async () => {
    const { exitCode, out, err } = await source.runUnread('export demo orders');
    assert.equal(`${exitCode} ${err}`, `0 Store: ${source.data} (SQLite)\n`);
    assert.ok(out.length > 0 && out.length < exported[1]!.length);
  });

  test('a backup, restored to an empty folder, is the same store', async () => {
    const backup = join(source.data, '../backup');
    const { files } = await source.ask<{ files: string[] }>('backup', backup);
    assert.equal(files.length, 3);
    assert.match((await source.refused('backup', backup)).message, /is not empty/);
    const restored = openCommandLine();
    await restored.ask('restore', backup);
    assert.deepEqual(await restored.ask('tenant list'), await source.ask('tenant list'));
    assert.deepEqual(await findDifferences(restored, 'demo'), []);
    assert.match((await restored.refused('restore', backup)).message, /is not empty/);
  });

  test('a folder that is not a backup is not restored', async () => {
    const { refused, data } = openCommandLine();
    assert.match((await refused('restore', dirname(data))).message, /is not a backup/);
    assert.equal(existsSync(data), false);
  });

  test('a damaged backup is not restored', async () => {
    const line = openCommandLine();
    const backup = join(line.data, '../backup');
    await source.ask('backup', backup);
    const file = join(backup, 'control.db');
    writeFileSync(file, readFileSync(file).fill(0x5a, 4096, 8192));
    assert.match((await line.refused('restore', backup)).message, /damaged|malformed/);
    assert.equal(existsSync(line.data), false);
  });
});
