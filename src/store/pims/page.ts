/** Cuts the rows of a query to a page, for both stores. */
import type { Page } from '../../pims/port.ts';
import type { Json } from '../../pims/script.ts';

/** A page of rows of (sort key, record), of which there are `limit` + 1 when there are more. Takes no more than it needs. */
export function cutPage(rows: Iterable<readonly [string, Json, ...unknown[]]>, limit: number, bytesMax: number): Page {
  let records = '';
  let bytes = 0;
  let taken = 0;
  let last = '';
  for (const [key, record] of rows) {
    bytes += Buffer.byteLength(record) + 1;
    if (taken === limit || (bytes > bytesMax && taken > 0)) return { records: `[${records}]`, next: last };
    records += taken === 0 ? record : `,${record}`;
    last = key;
    taken++;
  }
  return { records: `[${records}]`, next: null };
}
