/**
 * Converts a real retailer's file (test/data/README.md names its authors) into CSV files for `storeroom import`. It
 * streams, so that no file is ever whole in memory.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import Papa from 'papaparse';

export interface RetailRow {
  InvoiceNo: string;
  StockCode: string;
  Description: string;
  Quantity: string;
  InvoiceDate: string;
  UnitPrice: string;
  CustomerID: string;
  Country: string;
}

type RecordType = 'customers' | 'inventory' | 'orders' | 'lines';
type Values = Record<string, string>;

/** Number of rows in the file. */
export const RETAIL_ROWS = 25_281;

/** Yields the first rows of the file, or all rows. Each row is a line of an order. */
export async function* readRetailRows(most = RETAIL_ROWS): AsyncGenerator<RetailRow> {
  const file = createReadStream(join(import.meta.dirname, '../data/online-retail-2010-12.csv.gz'));
  const rows = file
    .pipe(createGunzip())
    .pipe(Papa.parse(Papa.NODE_STREAM_INPUT, { header: true, skipEmptyLines: true }));
  let count = 0;
  for await (const row of rows as AsyncIterable<RetailRow>) {
    yield row;
    if (++count === most) return;
  }
}

/** Returns the code as the shop writes it: '17850' for '17850.0'. */
export const customerCode = ({ CustomerID }: RetailRow): string => CustomerID.replace(/\.0$/, '');
export const orderDate = ({ InvoiceDate }: RetailRow): string => InvoiceDate.slice(0, 10);

/** Makes the records of a row. Of rows with the same key, only the first makes a record; every row makes a line. */
const RECORDS: Record<RecordType, { key: (row: RetailRow) => string; record: (row: RetailRow) => Values }> = {
  customers: {
    key: customerCode,
    record: (row) => ({
      CUSTOMER_CODE: customerCode(row),
      CUSTOMER_NAME: `Customer ${customerCode(row)}`,
      BCOUNTRY: row.Country,
    }),
  },
  inventory: {
    key: (row) => row.StockCode,
    record: (row) => ({ PART_CODE: row.StockCode, PART_DESCRIPTION: row.Description, UNIT_PRICE: row.UnitPrice }),
  },
  orders: {
    key: (row) => row.InvoiceNo,
    record: (row) => ({
      ORDER_NUMBER: row.InvoiceNo,
      ORDER_TYPE: 'invoice',
      CUSTOMER_CODE: customerCode(row),
      ORDER_DATE: orderDate(row),
      BCOUNTRY: row.Country,
      CREATE_DATE: `${row.InvoiceDate.replace(' ', 'T')}Z`,
    }),
  },
  lines: {
    key: () => '',
    record: (row) => ({
      ORDER_NUMBER: row.InvoiceNo,
      PART_CODE: row.StockCode,
      DESCRIPTION: row.Description,
      QUANTITY: row.Quantity,
      NUMBER_SHIPPED: row.Quantity,
      UNIT_PRICE: row.UnitPrice,
    }),
  },
};

export interface RetailFile {
  readonly recordType: RecordType;
  readonly file: string;
  readonly count: number;
}

/** Writes this many rows into a folder as four files. Returns them in the order in which they must be imported. */
export async function writeRetailFiles(folder: string, rows = RETAIL_ROWS): Promise<RetailFile[]> {
  const files: RetailFile[] = [];
  for (const recordType of ['customers', 'inventory', 'orders', 'lines'] as const) {
    const file = join(folder, `${recordType}.csv`);
    let count = 0;
    await pipeline(async function* () {
      for await (const record of readRecords(recordType, rows)) {
        if (count++ === 0) yield `${Object.keys(record).join(',')}\n`;
        yield `${Papa.unparse([Object.values(record)])}\n`;
      }
    }, createWriteStream(file));
    files.push({ recordType, file, count });
  }
  return files;
}

async function* readRecords(recordType: RecordType, rows: number): AsyncGenerator<Values> {
  const { key, record } = RECORDS[recordType];
  const seen = new Set<string>();
  for await (const row of readRetailRows(rows)) {
    if (recordType !== 'lines' && (key(row) === '' || seen.has(key(row)))) continue;
    seen.add(key(row));
    yield record(row);
  }
}
