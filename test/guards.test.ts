/**
 * Proves that the checks of tidy.test.ts and of the linter can fail: forbidden imports and habits are planted in a copy
 * of the tree, where the walker, oxlint (by .oxlintrc.json), or both must report them.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { after, suite, test } from 'node:test';
import {
  FILE_LINES_MAX,
  findFaults,
  MAY_IMPORT,
  MAY_IMPORT_TYPES,
  nameRelative,
  ROOT,
  type Rule,
} from './kit/tree-walker.ts';

/** Code that is planted in a file, or in a new file of a folder, and the rules of walker and oxlint that report it. */
type Plant = [guarantee: string, where: string, source: string, walker: Rule | null, oxlint?: string];

const [PROPERTY, GLOBAL, IMPORT] = ['no-restricted-properties', 'no-restricted-globals', 'no-restricted-imports'];
const CLOCKS = `setTimeout(a,1) setInterval(a,1) setImmediate(a) queueMicrotask(a) fetch('a') performance.now()
  crypto.randomUUID() Temporal.Now.instant()`.split(/\s+/);
const PLANTS: Plant[] = [
  ['pims cannot ask for the time', 'src/pims/', 'export const a = Date.now();', 'clock', PROPERTY],
  ['pims cannot ask for the date', 'src/pims/', 'export const a = new Date();', 'clock'],
  ['pims cannot use random numbers', 'src/pims/', 'export const a = Math.random();', 'clock', PROPERTY],
  ...CLOCKS.map((call): Plant => [
    `pims cannot call ${call}`,
    'src/pims/',
    `export const a = () => ${call};`,
    'clock',
    GLOBAL,
  ]),
  ['pims cannot read the environment', 'src/pims/', 'export const a = process.env;', 'environment', GLOBAL],
  ['http cannot read the environment', 'src/http/', 'export const a = process.env;', 'environment', PROPERTY],
  ['cli cannot take the environment', 'src/cli/', 'export const { env } = process;', 'environment', PROPERTY],
  ...['src/http/', 'test/limits/'].flatMap((where): Plant[] => [
    [`${where} cannot ask for the time`, where, 'export const a = Date.now();', null, PROPERTY],
    [`${where} cannot ask for the date`, where, 'export const a = new Date();', 'time'],
    [`${where} cannot set a timer`, where, 'setTimeout(() => undefined, 1);', null, GLOBAL],
  ]),
  [
    'a test cannot sleep',
    'test/',
    "import { setTimeout as a } from 'node:timers/promises';\nawait a(1);",
    null,
    IMPORT,
  ],
  ['a test cannot measure', 'test/', 'export const a = performance.now();', null, GLOBAL],
  ['a test cannot wait for a page by time', 'test/', "await (await import('a')).waitForTimeout(1);", null, PROPERTY],
  ['http cannot write to the console', 'src/http/', 'console.log(1);', 'console', 'no-console'],
  ['http cannot use what Node does not document', 'src/http/', 'export const a = (b: any) => b._handle;', 'private'],
  ['the dashboard cannot write HTML as text', 'dashboard/src/', "document.body.innerHTML = 'a';", 'markup'],
  ['the dashboard cannot write to the console', 'dashboard/src/ui/', 'console.log(1);', 'console', 'no-console'],
  ['http cannot hold SQL', 'src/http/', "export const a = 'SELECT A FROM B';", 'sql'],
  [
    'http cannot load modules past the rules',
    'src/http/',
    "export const a = process.getBuiltinModule('node:sqlite');",
    'loader',
  ],
  ['http cannot name a type of the store', 'src/http/', "export type A = import('../store/a.ts').A;", 'import'],
  ['http cannot compute what it imports', 'src/http/', "export const a = import('../store' + '/a.ts');", 'import'],
  [
    'http cannot start a worker of the store',
    'src/http/',
    "startThread(new URL('../store/a.ts', import.meta.url));",
    'import',
  ],
  ['http cannot start a worker past the rules', 'src/http/', "new Worker('a');", 'loader'],
  [
    'one half of a circle is reported',
    'src/tenant/cycle-a.ts',
    "import type { B } from './cycle-b.ts';\nexport type A = B | 1;",
    'cycle',
    'no-cycle',
  ],
  [
    'its other half is reported too, even if both import types',
    'src/tenant/cycle-b.ts',
    "import type { A } from './cycle-a.ts';\nexport type B = A | 2;",
    'cycle',
    'no-cycle',
  ],
  [
    'a circle of folders is reported, even if it imports types',
    'src/pims/rules/',
    "export type { WriteContext } from '../writes/writes.ts';",
    'circle',
  ],
  [
    'a circle of folders of the dashboard is reported',
    'dashboard/src/ui/',
    "export type { TableColumn } from './table/table.tsx';",
    'circle',
  ],
  ...[
    ['src/pims/rules/', '../../clock.ts'],
    ['src/pims/', 'node:fs'],
    ['src/tenant/', '../pims/a.ts'],
    ['src/store/', '../http/a.ts'],
    ['src/http/call/', '../../store/a.ts'],
    ['src/cli/serve/', 'node:sqlite'],
    ['src/cli/', 'pg'],
    ['dashboard/src/pages/', '../../../src/pims/rules/fields.ts'],
    ['dashboard/src/browser/', '../api/client.ts'],
    ['dashboard/src/ui/form/', '../../records/records.ts'],
    ['dashboard/src/records/', '../pages/home/page.tsx'],
    ['dashboard/src/pages/home/', '../usage/page.tsx'],
    ['dashboard/src/pages/home/', '../../app/app.tsx'],
    ['client/src/', '../../src/errors.ts'],
  ].map(([where, target]): Plant => [`${where} cannot import ${target}`, where!, `import '${target}';`, 'import']),
  ['a file that is too long is reported', 'src/http/', '// a\n'.repeat(FILE_LINES_MAX), 'length', 'max-lines'],
  [
    'a function of 81 lines is reported',
    'src/http/',
    `export function a() {${'\n'.repeat(80)}}`,
    null,
    'max-lines-per-function',
  ],
  ['a promise cannot be dropped', 'src/http/', 'async function a() {}\na();', null, 'no-floating-promises'],
  ['a promise cannot be a condition', 'src/http/', 'if ((async () => 1)()) throw 1;', null, 'no-misused-promises'],
  ['any is not a type', 'src/http/', 'export const a: any = 1;', null, 'no-explicit-any'],
  ['a file outside the table is reported', 'src/extra.ts', '', 'place'],
  ['a folder outside the order of the dashboard is reported', 'dashboard/src/extra/a.ts', '', 'place'],
  ['a catch-all file is reported', 'src/http/utils.ts', '', 'name'],
  ['a catch-all folder is reported', 'src/http/common/a.ts', '', 'name'],
  ['a barrel is reported', 'src/http/index.ts', '', 'name'],
  ['a file without an opening comment is reported', 'src/http/', 'export {};', 'opening'],
  ['a note of unfinished work is reported', 'src/http/', '// TODO', 'unfinished'],
];

/** Files, or folders that get one, that import each target in four ways. They prove the architecture table. */
const IMPORTERS = [
  ...Object.keys(MAY_IMPORT),
  'src/pims/rules/',
  'src/store/sqlite/',
  'src/store/sqlite/reads/',
  'src/http/dashboard/',
  'dashboard/src/ui/form/',
  'dashboard/src/pages/usage/',
];
const TARGETS = `
  src/main.ts src/assets.ts src/clock.ts src/errors.ts src/config.ts src/json-schema.ts src/administration/a.ts src/pims/a.ts src/tenant/a.ts src/audit/a.ts src/request-log/a.ts
  src/webhooks/a.ts node:dns node:https src/account/a.ts src/store/a.ts src/store/pims/a.ts src/store/sqlite/a.ts src/http/a.ts src/http/dashboard/a.ts
  src/cli/a.ts node:fs node:net node:fs/promises node:crypto node:zlib node:sqlite node:process fs pg big.js fastify
  @fastify/cookie marked pg @prometheus-io/client @opentelemetry/api commander papaparse src/http/dashboard/interface.ts
  src/account/roles.ts src/tenant/keys.ts src/pims/rules/decimal.ts src/pims/rules/stages.ts src/pims/rules/totals.ts src/account/account-bounds.ts
  src/tenant/tenant.ts src/pims/rules/values.ts src/pims/rules/order.ts src/pims/csv/csv-reader.ts preact preact/hooks uqr vite`
  .trim()
  .split(/\s+/);

suite('the guards', () => {
  const copy = mkdtempSync(join(tmpdir(), 'storeroom-tidy-'));
  after(() => rmSync(copy, { recursive: true }));
  for (const part of [
    'src',
    'mcp/src',
    'dashboard/src',
    'dashboard/tsconfig.json',
    'package.json',
    'tsconfig.json',
    '.oxlintrc.json',
  ])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));

  const plant = (where: string, name: string, source: (file: string) => string) => {
    const file = /\.tsx?$/.test(where) ? where : `${where}planted-${name}.ts`;
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    writeFileSync(join(copy, file), `${source(file)}\n`);
    return file;
  };
  const planted = PLANTS.map(([guarantee, where, source, walker, oxlint], index) => ({
    guarantee,
    file: plant(where, `${index}`, () => source),
    walker,
    oxlint,
  }));
  const importers = IMPORTERS.map((where) => ({ where, file: plant(where, 'imports', importAll) }));
  const faults = findFaults(copy);
  const diagnostics = runOxlint(copy);

  for (const { where, file } of importers)
    test(`every forbidden import of ${where} is reported, in each way of importing`, () => {
      const lines = importAll(file).split('\n');
      const found = faults.filter((fault) => fault.file === file && fault.rule === 'import').map(({ line }) => line);
      const forbidden = lines.flatMap((line, at) => (isForbidden(where, file, line) ? [at + 1] : []));
      assert.deepEqual(
        found.toSorted((a, b) => a - b).map((line) => lines[line - 1]),
        forbidden.map((line) => lines[line - 1]),
      );
      assert.ok(new Set(found).isSupersetOf(new Set([1, 2, 3, 4])), 'src/main.ts, which no file may import');
    });

  for (const { guarantee, file, walker, oxlint } of planted)
    test(guarantee, () => {
      if (walker !== null)
        assert.ok(
          faults.some((fault) => fault.file === file && fault.rule === walker),
          `missed by the walker: ${walker}`,
        );
      if (oxlint !== undefined)
        assert.ok(
          diagnostics.some((one) => one.file === file && one.code === oxlint),
          `missed by oxlint: ${oxlint}`,
        );
    });
});

/** Returns whether the architecture table forbids a line of `importAll`. Paths with detours are always forbidden. */
function isForbidden(where: string, file: string, line: string): boolean {
  const [, name = ''] = /'(.+)'/.exec(line)!;
  const target = name.startsWith('.') ? posix.join(dirname(file), name) : name;
  if (name.startsWith('.') && name !== nameRelative(file, target)) return true;
  const row = Object.keys(MAY_IMPORT).find((key) => where === key || (key.endsWith('/') && where.startsWith(key)))!;
  const isType = line.startsWith('import type') && MAY_IMPORT_TYPES[row]?.test(target) === true;
  return !MAY_IMPORT[row]!.test(target) && !isType;
}

/** Returns code that imports every target in four ways, one per line, and targets in src also by two detours. */
function importAll(file: string): string {
  const names = TARGETS.flatMap((target) => {
    if (!target.startsWith('src/')) return [target];
    const name = nameRelative(file, target);
    return [name, `./cli/../${name}`, ...(name.startsWith('..') ? [`./${name}`] : [])];
  });
  const ways = (name: string, index: number) => [
    `import * as a${index} from '${name}';`,
    `import type * as b${index} from '${name}';`,
    `export * from '${name}';`,
    `await import('${name}');`,
  ];
  return names.flatMap(ways).join('\n');
}

function runOxlint(root: string): { file: string; line: number; code: string | undefined }[] {
  const command = join(ROOT, 'node_modules/.bin/oxlint');
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [command, '--format=json', 'src', 'mcp/src', 'test', 'dashboard/src'],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 1 << 26,
    },
  );
  assert.ok(stdout.startsWith('{'), `oxlint gave no report: ${stdout}${stderr}`);
  const report = JSON.parse(stdout) as {
    diagnostics: { filename: string; code: string; labels: { span: { line: number } }[] }[];
  };
  return report.diagnostics.map(({ filename, code, labels }) => ({
    file: filename,
    line: labels[0]?.span.line ?? 0,
    code: /\((.+)\)/.exec(code)?.[1],
  }));
}
