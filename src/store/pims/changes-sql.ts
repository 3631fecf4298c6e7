/** Reads a part of the change feed, with the bounds of the feed. A row has the changes of one commit. */
import type { Change, ChangeRows } from '../../pims/pims-port.ts';
import type { ChangedRecord } from '../../pims/writes/script.ts';
import type { Row } from '../writing.ts';

/** The question that a statement of buildChanges answers: the position, or null, and the number of changes. */
export type ChangesAsked = readonly [after: number | null, limit: number];
type CommitRow = readonly [earliest: number, newest: number, before: number, at: string, changed: string | null];

/**
 * Builds the statement that reads the rows with up to `?2` changes after the position `?1`, or after the earliest one.
 * Each row has the bounds. If there is no change, one row has only these.
 */
export function buildChanges(table: string): string {
  const earliest = `(SELECT "BEFORE" FROM ${table} ORDER BY "SEQ" LIMIT 1)`;
  return `SELECT coalesce(${earliest}, 0), coalesce((SELECT max("SEQ") FROM ${table}), 0), c."BEFORE", c."AT", c."CHANGED"
    FROM (SELECT 1 AS one) o
    LEFT JOIN (SELECT * FROM ${table} WHERE "SEQ" > coalesce(?1, ${earliest}) ORDER BY "SEQ" LIMIT ?2) c
      ON c."BEFORE" < coalesce(?1, ${earliest}) + ?2 ORDER BY c."SEQ"`;
}

export function readChangeRows(found: readonly Row[], [after, limit]: ChangesAsked): ChangeRows {
  const commits = found as readonly CommitRow[];
  const [earliest, newest] = commits[0]!;
  const changes: Change[] = [];
  for (const [, , before, at, changed] of commits)
    for (const [index, [type, key, change, operation]] of (JSON.parse(changed ?? '[]') as ChangedRecord[]).entries())
      changes.push({ seq: String(before + index + 1), type, key, change, at, operation });
  // The first row may begin before the position.
  const rest = changes.filter(({ seq }) => Number(seq) > (after ?? 0));
  return { changes: rest.slice(0, limit), earliest, newest };
}
