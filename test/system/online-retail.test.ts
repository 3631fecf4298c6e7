/**
 * Imports a retailer's real sales, with cancellations, negative quantities and gaps, at the command line, and reads
 * them unchanged over HTTP. `npm run test:all` uses all 25,281 lines of the file.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import {
  customerCode,
  orderDate,
  readRetailRows,
  RETAIL_ROWS,
  writeRetailFiles,
  type RetailRow,
} from '../kit/online-retail.ts';
import { cellsOf } from '../kit/lists.ts';
import { getOrder } from '../kit/orders.ts';
import { PROGRAM } from '../kit/program.ts';
import { trials } from '../kit/trials.ts';
import { placeVariables, sharedService, temporaryFolder } from '../kit/service.ts';

const LINES = trials('RETAIL_ROWS', { quick: 3000, all: RETAIL_ROWS });
const SAMPLE = trials('SAMPLE', { quick: 60, all: 500 });
/** Minimum number of invoices of each kind that a sample could miss. */
const KIND_LEAST = trials('KIND', { quick: 1, all: 10 });
const CHANGES = trials('CHANGES', { quick: 20, all: 100 });
const SEED = 20_101_201;

const service = await sharedService();
const keys = await service.makeTenant('retail');
const files = await writeRetailFiles(temporaryFolder(), LINES);
const invoices = new Map<string, RetailRow[]>();
for await (const row of readRetailRows(LINES)) {
  const rows = invoices.get(row.InvoiceNo);
  if (rows) rows.push(row);
  else invoices.set(row.InvoiceNo, [row]);
}

test('every customer, part, invoice and line is imported, and only the result is printed', async (context) => {
  for (const { recordType, file, count } of files) {
    const { code, stdout, stderr } = await service.command('import', 'retail', recordType, file, '--json');
    assert.equal(`${code} ${stderr}`, '0 ', 'no progress bar without a terminal');
    const { rowsPerSecond, ...report } = JSON.parse(stdout) as Record<string, unknown>;
    assert.deepEqual(report, { ...report, imported: count, rejected: 0, rejections: [] });
    context.diagnostic(`${recordType}: ${count} rows, ${String(rowsPerSecond)} a second`);
    const exported = (await service.command('export', 'retail', recordType, '--json')).json() as { records: unknown[] };
    assert.equal(exported.records.length, count);
  }
  assert.equal(files.at(-1)!.count, LINES);
});

test(`${SAMPLE} invoices read back over HTTP equal to the file`, async () => {
  for (const invoice of chooseSample()) {
    const rows = invoices.get(invoice)!;
    const { status, body } = await getOrder(service, keys, invoice);
    assert.equal(status, 200);
    const { ORDER_NUMBER, ORDER_TYPE, CUSTOMER_CODE, ORDER_DATE, BCOUNTRY, CREATE_DATE } = body.data;
    const [month, day, year] = String(ORDER_DATE).split('/');
    const { InvoiceDate, Country } = rows[0]!;
    const created = `${InvoiceDate.replace(' ', 'T')}.000Z`;
    assert.deepEqual(
      [ORDER_NUMBER, ORDER_TYPE, CUSTOMER_CODE, `${year}-${month}-${day}`, BCOUNTRY, CREATE_DATE],
      [invoice, 'invoice', customerCode(rows[0]!), orderDate(rows[0]!), Country, created],
    );
    const subRecords = body.subRecords as { ORDER_LINEITEMS: Record<string, string> }[];
    const names = 'LINE_NUMBER PART_CODE DESCRIPTION QUANTITY NUMBER_SHIPPED UNIT_PRICE';
    const lines = subRecords.map(({ ORDER_LINEITEMS: line }) => cellsOf(line, names));
    const quantities = (row: RetailRow): string[] =>
      [row.Quantity, row.Quantity, row.UnitPrice].map((text) => String(Number(text)));
    const expected = rows.map((row, index) => [`${index + 1}`, row.StockCode, row.Description, ...quantities(row)]);
    assert.deepEqual(lines, expected);
  }
});

test('imported customers can be changed one after the other, and are found by their new values', async () => {
  const find = async (name: string): Promise<string[]> => {
    const { body } = await service.call(keys, 'POST', '/customers/query', {
      body: [{ field: 'CUSTOMER_NAME', value: name, contains: true }],
    });
    return (body.data as Record<string, string>[]).map((customer) => customer['CUSTOMER_CODE']!);
  };
  const codes = new Set([...invoices.values()].map(([row]) => customerCode(row!)).filter((code) => code !== ''));
  for (const code of [...codes].slice(0, CHANGES)) {
    const { status, text } = await service.call(keys, 'POST', '/customers/update', {
      body: { CUSTOMER_CODE: code, CUSTOMER_NAME: `Renamed <${code}>` },
    });
    assert.equal(status, 200, text);
    assert.deepEqual([await find(`named <${code}>`), await find(`Customer ${code}`)], [[code], []]);
  }
});

test('on a terminal an import shows a progress bar', async () => {
  await service.makeTenant('watched');
  const [customers] = files;
  const command = [...PROGRAM, 'import', 'watched', 'customers', customers!.file].map((word) => `'${word}'`).join(' ');
  const terminal = spawn('script', ['-qec', command, '/dev/null'], {
    env: { ...process.env, ...placeVariables(service.place) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let shown = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  const [code] = (await once(terminal, 'close')) as [number];
  assert.equal(code, 0);
  assert.match(shown, /[█░]+ \d+ % /);
  assert.match(shown, new RegExp(`Imported ${customers!.count} customers`));
});

/**
 * Chooses invoices, always the same. At most half are of kinds that a sample could miss, such as cancellations, lines
 * without a description and invoices without a customer. The others are random.
 */
function chooseSample(): string[] {
  let state = SEED;
  const random = (): number => (state = Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  const ranked = [...invoices.keys()].map((invoice) => ({ invoice, rank: random() }));
  const shuffled = ranked.toSorted((a, b) => a.rank - b.rank).map(({ invoice }) => invoice);
  const kinds: ((rows: RetailRow[]) => boolean)[] = [
    ([first]) => first!.InvoiceNo.startsWith('C'),
    (rows) => rows.some(({ Description }) => Description === ''),
    (rows) => rows.some(({ CustomerID }) => CustomerID === ''),
    (rows) => rows.some(({ InvoiceNo, Quantity }) => Quantity.startsWith('-') && !InvoiceNo.startsWith('C')),
  ];
  const sample = new Set<string>();
  for (const isKind of kinds) {
    const found = shuffled.filter((invoice) => isKind(invoices.get(invoice)!)).slice(0, SAMPLE / 8);
    assert.ok(found.length >= KIND_LEAST, 'the file has too few of a kind');
    for (const invoice of found) sample.add(invoice);
  }
  for (const invoice of shuffled) if (sample.size < SAMPLE) sample.add(invoice);
  return [...sample];
}
