/**
 * Brings a database file to the newest schema: the numbered files of migrations/ in order, each in a transaction of its own with the number it
 * leaves behind, so that a crash leaves the old schema or the new one. Never changes a migration that has been released.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { OPENING_TIMEOUT_MS, retryWhileBusy, type Database } from './database.ts';

export type Schema = 'pims' | 'control' | 'usage' | 'requests';

const folder = new URL('migrations/', import.meta.url);
const migrations = new Map<Schema, string[]>();

/** Applies what is missing. Throws when the file was written by a newer version. Safe when several processes start at once. */
export function migrate(db: Database, schema: Schema): void {
  const scripts = loadMigrations(schema);
  const version = (): number => db.row<[number]>('PRAGMA user_version')![0];
  if (version() === scripts.length) return;
  if (version() > scripts.length)
    throw new Error(
      `${db.file} was written by a newer version of Storeroom (schema ${version()}, this one knows ${scripts.length}).`,
    );
  retryWhileBusy(OPENING_TIMEOUT_MS, () => {
    for (let next = version() + 1; next <= scripts.length; next++)
      migrateOnce(db, next, () => version() === next - 1, scripts[next - 1]!);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  });
}

/** One step, unless another process has just made it. */
function migrateOnce(db: Database, next: number, isMissing: () => boolean, script: string): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    if (isMissing()) db.exec(`${script}; PRAGMA user_version=${next}`);
    db.exec('COMMIT');
  } catch (fault) {
    db.exec('ROLLBACK');
    throw fault;
  }
}

function loadMigrations(schema: Schema): string[] {
  let scripts = migrations.get(schema);
  if (!scripts) {
    const names = readdirSync(folder).filter((name) => name.startsWith(`${schema}-`)).toSorted(); // prettier-ignore
    scripts = names.map((name) => readFileSync(new URL(name, folder), 'utf8'));
    migrations.set(schema, scripts);
  }
  return scripts;
}
