/**
 * The next version of the program: a copy of the sources with migrations that a test adds. It shows what an upgrade
 * keeps, although no release has a migration yet.
 */
import { cpSync, existsSync, globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { programAt, type Words } from './program.ts';
import { temporaryFolder } from './service.ts';

const ROOT = join(import.meta.dirname, '../..');
const COPIED = ['src', 'mcp/src', 'test/kit', 'package.json'];
const LINKED = ['node_modules', 'dashboard', 'demo', 'openapi.json'];

/** The version that the copy has. */
export const NEXT_VERSION = '99.0.0';

interface Migration {
  readonly store: 'sqlite' | 'postgres';
  readonly kind: 'control' | 'pims' | 'usage' | 'requests';
  readonly script: string;
}

/** Returns the number of the newest schema of a kind. */
export function newestSchema({ store, kind }: Pick<Migration, 'store' | 'kind'>, root = ROOT): number {
  const names = globSync(`src/store/${store}/migrations/${kind}-*.sql`, { cwd: root }).toSorted();
  return Number(basename(names.at(-1)!, '.sql').slice(kind.length + 1));
}

/** Copies the program and adds migrations, each after the newest of its kind. Returns the words that start the copy. */
export function makeNextVersion(migrations: readonly Migration[]): Words {
  const copy = temporaryFolder();
  for (const part of COPIED) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  for (const part of LINKED.filter((name) => existsSync(join(ROOT, name))))
    symlinkSync(join(ROOT, part), join(copy, part));
  const manifest = join(copy, 'package.json');
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"version": "[^"]+"/, `"version": "${NEXT_VERSION}"`));
  for (const { store, kind, script } of migrations) {
    const number = String(newestSchema({ store, kind }, copy) + 1).padStart(4, '0');
    writeFileSync(join(copy, `src/store/${store}/migrations/${kind}-${number}.sql`), script);
  }
  return programAt(copy);
}

const ADD_TABLE = 'CREATE TABLE "PROOF" ("NUMBER" INTEGER); INSERT INTO "PROOF" VALUES (1)';
const ADD_COLUMN = `ALTER TABLE "CUSTOMER" ADD COLUMN "_PROOF" TEXT NOT NULL DEFAULT ''`;
/** Each append shows in NOTES how often the script has run, and in which order. */
const append = (text: string): string => `UPDATE "CUSTOMER" SET "NOTES" = "NOTES" || '${text}'`;

/** Returns the next version of a store, which has one more control schema and two more schemas of tenants. */
export const makeTestedVersion = (store: Migration['store']): Words =>
  makeNextVersion([
    { store, kind: 'control', script: ADD_TABLE },
    { store, kind: 'pims', script: `${ADD_COLUMN}; ${append(' first')}` },
    { store, kind: 'pims', script: `${ADD_TABLE}; ${append(' second')}` },
  ]);
/** Texts that the two migrations of a tenant append to the NOTES of every customer. */
export const APPENDED = ' first second';
