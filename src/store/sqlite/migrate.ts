/**
 * Migrates a file to the newest schema: the files of migrations/ in order, each with its number in one transaction, so
 * that a crash leaves the old schema or the new one. Released migrations never change.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { newVersion } from '../pims/random-text.ts';
import { OPENING_TIMEOUT_MS, retryWhileBusy, type Database } from './database.ts';

export type SqliteSchema = 'pims' | 'control' | 'usage' | 'requests';

const folder = new URL('migrations/', import.meta.url);
const migrations = new Map<SqliteSchema, string[]>();

/** Whether there is nothing to migrate. Waits for a process that opens the file. */
export function isNewest(db: Database, schema: SqliteSchema): boolean {
  let version = 0;
  retryWhileBusy(OPENING_TIMEOUT_MS, () => ([version] = db.row<[number]>('PRAGMA user_version')!));
  return version === loadMigrations(schema).length;
}

/** Throws when the file is from a newer version. Safe when several processes start together. */
export function migrate(db: Database, schema: SqliteSchema): void {
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

/** One migration, unless another process has just applied it. */
function migrateOnce(db: Database, next: number, isMissing: () => boolean, script: string): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    if (isMissing()) db.exec(`${script.replaceAll('$VERSION', newVersion())}; PRAGMA user_version=${next}`);
    db.exec('COMMIT');
  } catch (fault) {
    db.exec('ROLLBACK');
    throw fault;
  }
}

function loadMigrations(schema: SqliteSchema): string[] {
  let scripts = migrations.get(schema);
  if (!scripts) {
    const names = readdirSync(folder).filter((name) => name.startsWith(`${schema}-`));
    scripts = names.toSorted().map((name) => readFileSync(new URL(name, folder), 'utf8'));
    migrations.set(schema, scripts);
  }
  return scripts;
}
