/** Tests that a walk through large texts keeps few of them in memory and skips no row. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Database } from '../../src/store/sqlite/files/database.ts';
import { range } from '../kit/lists.ts';
import { temporaryFolder } from '../kit/service.ts';

const ROWS = 40;
const CHARACTERS = 1_000_000;
/** Maximum characters of texts that functions receive before the statement is restarted after the last row. */
const KEPT_MAX = 10_000_000;

test('a walk that finds nothing for long restarts at its position, and finds each row once', () => {
  const db = new Database(join(temporaryFolder(), 'walk.db'), { mode: 'make', busyTimeoutMs: 0 });
  db.exec('CREATE TABLE TEXTS (K TEXT PRIMARY KEY, NOTES TEXT)');
  const keys = range(ROWS).map((row) => String(row).padStart(3, '0'));
  const found = [keys[0]!, keys[20]!, keys.at(-1)!];
  for (const key of keys)
    db.runSql('INSERT INTO TEXTS VALUES (?, ?)', key, 'X'.repeat(CHARACTERS) + (found.includes(key) ? 'NEEDLE' : ''));
  const sql = 'SELECT K FROM TEXTS WHERE K > ? AND walk_row(K) AND contains_folded(NOTES, ?) ORDER BY K';
  let begun = 0;
  const valuesFrom = (key: string): string[] => {
    begun++;
    return [key, 'NEEDLE'];
  };
  const rows = [...db.walk<[string]>(sql, valuesFrom, '')].map(([key]) => key);
  db.close();
  assert.deepEqual(rows, found);
  assert.ok(begun >= (ROWS * CHARACTERS) / KEPT_MAX, `it began ${begun} times`);
});
