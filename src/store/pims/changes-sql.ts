/** Reads a part of the change feed, with the bounds of the feed. */
import type { ChangeRow, ChangeRows } from '../../pims/pims-port.ts';
import type { Row } from '../writing.ts';

type BoundsRow = readonly [earliest: number, newest: number, seq: number | null, ...string[]];

/**
 * Builds the statement that reads up to `limit` changes after a position. Each row has the bounds. If there is no
 * change, one row has only these.
 */
export const buildChanges = (table: string): string =>
  `SELECT b.earliest, b.newest, c."SEQ", c."TYPE", c."KEY", c."CHANGE", c."AT", c."OPERATION"
    FROM (SELECT (SELECT min("SEQ") FROM ${table}) AS earliest, (SELECT max("SEQ") FROM ${table}) AS newest) b
    LEFT JOIN (SELECT * FROM ${table} WHERE "SEQ" > ? ORDER BY "SEQ" LIMIT ?) c ON TRUE ORDER BY c."SEQ"`;

export function readChangeRows(found: readonly Row[]): ChangeRows {
  const read = found as readonly BoundsRow[];
  const [first, newest] = read[0]!;
  const rows: ChangeRow[] = [];
  for (const [, , seq, type = '', key = '', change = '', at = '', operation = ''] of read)
    if (seq !== null) rows.push({ seq, type: type as ChangeRow['type'], key, change, at, operation });
  return { rows, earliest: Math.max(0, first - 1), newest };
}
