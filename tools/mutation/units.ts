/** Lists the tests that may notice a mistake in each source file, in stages: quick tests first. */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { GROUPS } from '../../test/store/contract.ts';

/** A test file, or its suites with this name. */
export interface Unit {
  readonly file: string;
  readonly suite?: string;
}

export const ROOT = resolve(import.meta.dirname, '../..');
/** Every part of the contract of stores, by its group. */
const CONTRACT: { readonly [Group in keyof typeof GROUPS]: readonly (keyof (typeof GROUPS)[Group])[] } = {
  writes: [
    'numbers and outcomes',
    'every kind of write',
    'calls sent at once',
    'repeated writes',
    'orders, lines and stock',
  ],
  records: ['queries', 'the change feed', 'import and export'],
  tenants: [
    'tenants, keys and usage',
    'named keys',
    'field dictionaries',
    'the request log',
    'people and sessions',
    'the audit log',
    'webhooks',
  ],
};
const contract = (store: 'sqlite' | 'postgres'): Unit[] =>
  Object.entries(CONTRACT).flatMap(([group, parts]) =>
    parts.map((suite) => ({ file: `test/store/${store === 'sqlite' ? store : `${store}-${group}`}.test.ts`, suite })),
  );
const filesOf = (...patterns: string[]): Unit[] =>
  globSync(patterns, { cwd: ROOT })
    .toSorted()
    .map((file) => ({ file }));
/** Returns each suite and test of these files as a unit. Used for long files of which few suites reach a mutant. */
const suitesOf = (pattern: string): Unit[] =>
  filesOf(pattern).flatMap(({ file }) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^(?:suite|test)\('([^']+)'/gm)].map(([, name]) => ({
      file,
      suite: `^${RegExp.escape(name!)}`,
    })),
  );

/** The files to mutate and the stages of their tests: tests of the rules, then of the stores, then over HTTP. */
const FOLDERS: Record<string, Unit[][]> = {
  'src/pims/csv/*.ts': [filesOf('test/system/csv-*.test.ts')],
  'src/pims/operations.ts': [
    filesOf(
      'test/api/{get*,findOrdersByStorefrontReference,custom-fields,idempotency}.test.ts',
      'test/system/cli-order.test.ts',
    ),
  ],
  // Only PostgreSQL's write group asks what is known of a load after a save.
  'src/pims/writes/kinds-of-*.ts': [filesOf('test/store/postgres-writes.test.ts'), contract('sqlite')],
  'src/pims/{!(operations),*/*}.ts': [
    filesOf('test/pims/*.test.ts'),
    [...contract('sqlite'), ...suitesOf('test/store/sqlite-files.test.ts')],
  ],
  'src/tenant/*.ts': [filesOf('test/tenant/*.test.ts'), contract('sqlite')],
  'src/account/*.ts': [
    suitesOf('test/account/*.test.ts'),
    contract('sqlite'),
    filesOf('test/dashboard/{audit,roles,second-factor,sessions,sign-in,throttle}.test.ts'),
  ],
  'src/store/{pims,sqlite/reads}/{page,script-runner,script-sql,row-sql,where,pims-sql}.ts': [
    filesOf('test/store/{where,pims-sql}.test.ts'),
    contract('sqlite'),
  ],
  'src/store/postgres/{reads/pims-sql,reads/page-sql,writes/merge-sql}.ts': [
    filesOf('test/store/pims-sql.test.ts'),
    contract('postgres'),
  ],
  'src/http/{call/{stages,admit},operations/cursor}.ts': [
    filesOf(
      'test/api/{authentication,authorization-header,idempotency,metering,order-of-checks,paging}.test.ts',
      'test/limits/{bodies,cursors}.test.ts',
    ),
    filesOf('test/limits/room.test.ts', 'test/request-log/*.test.ts', 'test/dashboard/orders-and-fields.test.ts'),
  ],
};
const WIDE = filesOf('test/api/*.test.ts', 'test/limits/{cursors,lines}.test.ts');
const WIDE_FOLDERS = /^src\/(pims|tenant|http|store)\//;

/** Further files, in which only `npm run test:mutation` without names plants. A file belongs to the first that fits. */
const CHANGED_FOLDERS: Record<string, Unit[][]> = {
  'src/{audit,request-log}/*.ts': [filesOf('test/{audit,request-log}/*.test.ts')],
  'src/webhooks/*.ts': [filesOf('test/webhooks/{addresses,lease,schedule,sealing-key}.test.ts')],
  'src/store/postgres/**/*.ts': [
    filesOf('test/store/{page-sql,pims-sql}.test.ts'),
    [...contract('postgres'), ...filesOf('test/store/{postgres-*,each-table}.test.ts')],
  ],
  'src/store/**/*.ts': [
    filesOf('test/store/{page-sql,pims-sql,where,walk,writing,write-queue}.test.ts'),
    [...contract('sqlite'), ...filesOf('test/store/{sqlite-*,each-table}.test.ts')],
    filesOf('test/system/{check,move,upgrade}.test.ts'),
  ],
  'src/http/dashboard/**/*.ts': [filesOf('test/dashboard/!(pages-*).test.ts')],
  'src/http/**/*.ts': [filesOf('test/contract.test.ts'), filesOf('test/{api,limits}/*.test.ts')],
  'src/{cli/**/*,config,clock,main}.ts': [
    filesOf('test/clock.test.ts', 'test/system/{check,cli-*,move,settings}.test.ts'),
  ],
};

const isWide = (pattern: string): boolean =>
  pattern in FOLDERS && WIDE_FOLDERS.test(pattern) && !/postgres|csv/.test(pattern);

interface Folder {
  readonly pattern: string;
  readonly files: readonly string[];
  readonly stages: readonly (readonly Unit[])[];
}

/** Returns the folders with the chosen files. With `isWhole`, any file of src can be chosen. */
export function chooseFolders(isChosen: (file: string) => boolean, isWhole: boolean): Folder[] {
  const taken = new Set<string>();
  return Object.entries({ ...FOLDERS, ...(isWhole && CHANGED_FOLDERS) }).map(([pattern, units]) => {
    const files = globSync(pattern, { cwd: ROOT }).toSorted();
    const own = files.filter((file) => !taken.has(file) && isChosen(file));
    for (const file of files) taken.add(file);
    return { pattern, files: own, stages: [...units, ...(isWide(pattern) ? [WIDE] : [])] };
  });
}
