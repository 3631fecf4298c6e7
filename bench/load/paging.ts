/**
 * W10: one caller reads page after page by cursor, up to the end or to 100,000 records.
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

/** Counts a key in an answer. Parsing the answer would take longer than the service needs to make it. */
export function countOf(bytes: Buffer, key: string): number {
  let count = 0;
  for (let at = bytes.indexOf(key); at !== -1; at = bytes.indexOf(key, at + key.length)) count++;
  return count;
}
