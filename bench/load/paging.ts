/**
 * W10: one caller reads page after page to the end, or 100,000 records, each page from the cursor of the one before.
 */
import { RawConnection } from '../../test/kit/raw-connection.ts';
import type { RowFigures } from '../records/seed.ts';
import { formatRequest } from '../sides/calls.ts';
import type { Side } from '../sides/side.ts';
import { forgetPeaks, peakMemoryMb } from './processes.ts';

const PAGE = 1000;
const RECORDS_MAX = 100_000;
const KEYS = { customers: '"CUSTOMER_CODE":', orders: '"ORDER_NUMBER":' };

export async function measurePaging({ server, dialect }: Side, recordType: keyof typeof KEYS): Promise<RowFigures> {
  const connection = new RawConnection(server.origin);
  const asked = dialect.query(recordType, [], PAGE);
  forgetPeaks([server.pid]);
  const begunAt = performance.now();
  let rows = 0;
  let path: string | undefined = asked.path;
  while (path !== undefined && rows < RECORDS_MAX) {
    const page = await connection.send(formatRequest({ ...asked, path }), false);
    const found = page ? countOf(page.body, KEYS[recordType]) : 0;
    if (found === 0) throw new Error(`A page has no records: ${page?.body.toString().slice(0, 300)}`);
    rows += found;
    const cursor = page!.headers.get('x-next-cursor');
    path = cursor && `${asked.path}&cursor=${encodeURIComponent(cursor)}`;
  }
  const rowsPerSecond = (rows / (performance.now() - begunAt)) * 1000;
  connection.close();
  return { name: `page through ${recordType}`, rows, rowsPerSecond, memoryMb: peakMemoryMb([server.pid]) };
}

/** Parsing them would take the reader longer than the service takes to answer. */
export function countOf(bytes: Buffer, key: string): number {
  let count = 0;
  for (let at = bytes.indexOf(key); at !== -1; at = bytes.indexOf(key, at + key.length)) count++;
  return count;
}
