/** Cuts the rows of a query to a page, for both stores. */
import type { Page } from '../../pims/port.ts';
import type { Json } from '../../pims/script.ts';

/** A page of rows of (sort key, record), of which there are `limit` + 1 when there are more. */
export function cutPage(
  rows: readonly (readonly [string, Json, ...unknown[]])[],
  limit: number,
  bytesMax: number,
): Page {
  let records = '';
  let bytes = 0;
  let taken = 0;
  for (const [, record] of rows) {
    bytes += Buffer.byteLength(record) + 1;
    if (taken === limit || (bytes > bytesMax && taken > 0)) break;
    records += taken === 0 ? record : `,${record}`;
    taken++;
  }
  return { records: `[${records}]`, next: taken < rows.length ? rows[taken - 1]![0] : null };
}
