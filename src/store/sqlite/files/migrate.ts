/**
 * Creates the schema of a file or migrates it to the newest: the scripts of migrations/ in order, each with its number
 * in one transaction, so that a crash leaves the old schema or the new one.
 */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { refuseCommand } from '../../../errors.ts';
import { selectInstallation } from '../../control/control.ts';
import { loadSchema, type SchemaScripts } from '../../sql/schema.ts';
import { nameFile, OPENING_TIMEOUT_MS, retryWhileBusy, withDatabase, type Database } from './database.ts';

export const SCHEMAS = ['control', 'usage', 'requests', 'pims'] as const;
export type SqliteSchema = (typeof SCHEMAS)[number];

/** The first bytes of a database. */
const MAGIC = 'SQLite format 3\0';
/** Place of the schema in the header of a file: four bytes. */
const SCHEMA_AT = 60;
const FOLDER = 'src/store/sqlite/migrations/';
/** The type of a column that holds a field, also in the released scripts of the schema. */
export const FIELD_TYPE = "TEXT NOT NULL DEFAULT ''";
const TYPES = {
  FIELD: FIELD_TYPE,
  INDEXED: '"$&"',
  $RECORD: 'ID INTEGER PRIMARY KEY, SORT_KEY TEXT NOT NULL UNIQUE',
  $RECORDS: 'STRICT',
  $TABLE: 'STRICT, WITHOUT ROWID',
  $ROWS: 'STRICT',
  $HOT: 'STRICT, WITHOUT ROWID',
};
const schemas = new Map<SqliteSchema, SchemaScripts>();

const versionOf = (db: Database) => db.row<[number]>('PRAGMA user_version')![0];

/** The store of a file, and its tenant, or '' for a file of all tenants. The file names both. */
export interface Owner {
  readonly identity: string;
  readonly teamId: string;
}

/** The beginning of what `findOtherOwner` returns, and the remedy. */
export const BELONGS = 'it belongs to';
export const PUT_BACK = "Put this store's own file there, or the one of its last good backup.";

/** Returns which schema a file has if this version does not know it, or undefined. `isNewest` throws instead. */
export function findUnknown(db: Database, schema: SqliteSchema): string | undefined {
  const version = versionOf(db);
  return schemaOf(schema).knows(version) ? undefined : `its schema ${version} is unknown to this version`;
}

/** Returns whose file it is if it is in the place of another, or undefined. An unknown schema has no known owner. */
export function findOtherOwner(db: Database, schema: SqliteSchema, owner: Owner): string | undefined {
  if (versionOf(db) === 0 || findUnknown(db, schema) !== undefined) return undefined;
  const [identity, teamId] = db.row<[string, string]>('SELECT IDENTITY, TEAM_ID FROM OWNER') ?? [];
  if (identity !== owner.identity) return `${BELONGS} another store than control.db`;
  return teamId === owner.teamId ? undefined : `${BELONGS} the tenant ${teamId}`;
}

/**
 * Returns whether there is nothing to migrate. Waits for a process that opens the file. Throws COMMAND_REFUSED if the
 * file has an unknown schema or another owner.
 */
export function isNewest(db: Database, schema: SqliteSchema, owner?: Owner): boolean {
  const version = retryWhileBusy(OPENING_TIMEOUT_MS, () => versionOf(db));
  if (!schemaOf(schema).knows(version)) throw refuseUnknown(db.file, schema, version);
  let other: string | undefined;
  try {
    other = owner && findOtherOwner(db, schema, owner);
  } catch (fault) {
    throw nameFile(fault, db.file);
  }
  if (other !== undefined) throw refuseCommand(`${db.file}: ${other}. ${PUT_BACK}`);
  return version === schemaOf(schema).newest;
}

export const refuseUnknown = (file: string, schema: SqliteSchema, version: number) =>
  schemaOf(schema).refuseSchema(file, version, findVersion(file));

export const schemaOf = (schema: SqliteSchema): SchemaScripts =>
  schemas.getOrInsertComputed(schema, () => loadSchema(FOLDER, schema, TYPES));

/** The schemas of a file before and after an upgrade. */
export interface Upgrade {
  readonly from: number;
  readonly to: number;
}

/** Returns the upgrade that a start would make, or undefined for none. Opens the database only if it has a log. */
export function plannedUpgrade(file: string, schema: SqliteSchema): Upgrade | undefined {
  // Opening a pipe would block.
  if (!statSync(file).isFile()) return undefined;
  const header = Buffer.alloc(SCHEMA_AT + 4);
  const descriptor = openSync(file, 'r');
  try {
    if (readSync(descriptor, header) < header.length) return undefined;
  } finally {
    closeSync(descriptor);
  }
  const to = schemaOf(schema).newest;
  let from = header.readUInt32BE(SCHEMA_AT);
  if (from === to || !header.toString('latin1').startsWith(MAGIC)) return undefined;
  // Until the next checkpoint, only the log has the new schema.
  if (existsSync(`${file}-wal`)) from = withDatabase(file, { mode: 'read', busyTimeoutMs: 0 }, versionOf);
  return from === to ? undefined : { from, to };
}

/**
 * Migrates a file and returns the upgrade, or undefined if there was none. Throws what `isNewest`
 * throws. Several processes can call it at the same time.
 */
export function migrate(db: Database, schema: SqliteSchema, owner?: Owner): Upgrade | undefined {
  if (isNewest(db, schema, owner)) return undefined;
  const { newest, scriptsAfter } = schemaOf(schema);
  const from = versionOf(db);
  retryWhileBusy(OPENING_TIMEOUT_MS, () => {
    for (const [number, script] of scriptsAfter(from))
      db.inTransaction(() => {
        // Another process may just have run the script.
        if (versionOf(db) < number) db.exec(`${fillIn(script, owner)}; PRAGMA user_version=${number}`);
      });
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  });
  return { from, to: newest };
}

/** Fills in the owner. The values need no quotes. */
const fillIn = (script: string, { identity = '', teamId = '' }: Partial<Owner> = {}) =>
  script.replace('$IDENTITY', identity).replace('$TEAM_ID', teamId);

/** Returns the version of the service that last used the folder of this file, if it can be read. */
function findVersion(file: string): string | undefined {
  const control = ['control.db', '../control.db']
    .map((name) => join(dirname(file), name))
    .find((name) => existsSync(name));
  if (control === undefined) return undefined;
  try {
    const select = (db: Database) => db.row<[string]>(selectInstallation(''), 'version');
    return withDatabase(control, { mode: 'read', busyTimeoutMs: 0 }, select)?.[0];
  } catch {
    // The file is damaged, or from before the table INSTALLATION.
    return undefined;
  }
}
