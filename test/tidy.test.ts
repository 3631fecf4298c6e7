/**
 * The shape of the code: the architecture table, size, names, comments, exact versions. A checker can fail open, so
 * nothing here is believed unproven: every forbidden import and habit is planted in a copy of the tree, where oxlint
 * (by .oxlintrc.json) and the walker below must both report it.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { after, suite, test } from 'node:test';

const ROOT = join(import.meta.dirname, '..');
/** Matches what one of them matches whole. */
const anyOf = (...patterns: RegExp[]): RegExp => new RegExp(`^(${patterns.map(({ source }) => source).join('|')})$`);

const FILE_LINES_MAX = 350; // also in .oxlintrc.json

/**
 * The architecture table. What a file imports is a path in this repository or the name of a package; what its row does
 * not match is forbidden.
 */
const MAY_IMPORT: Record<string, RegExp> = {
  'src/main.ts': /^(src\/cli\/.+|src\/(assets|clock)\.ts|node:module)$/,
  'src/assets.ts': /^node:(fs|path|sea|url|worker_threads)$/,
  'src/errors.ts': /(?!)/,
  'src/clock.ts': /^node:timers\/promises$/,
  'src/config.ts': /^(src\/errors\.ts|node:net)$/,
  'src/pims/': /^(src\/pims\/.+|src\/errors\.ts|big\.js)$/,
  'src/audit/': /^(src\/audit\/.+|src\/errors\.ts|node:crypto)$/,
  'src/tenant/': /^(src\/(tenant|audit)\/.+|src\/(clock|errors)\.ts|node:(crypto|util|zlib))$/,
  'src/request-log/': /^(src\/(request-log|tenant)\/.+|src\/(clock|errors)\.ts|node:(crypto|util|zlib))$/,
  'src/account/': /^(src\/(account|audit|tenant)\/.+|src\/(clock|errors)\.ts|node:(crypto|util|zlib)|@zxcvbn-ts\/.+)$/,
  'src/webhooks/':
    /^(src\/(webhooks|pims|tenant|audit)\/.+|src\/(clock|errors)\.ts|node:(crypto|dns(\/promises)?|net|util)|undici)$/,
  'src/store/':
    /^(src\/(store|pims|tenant|account|request-log|webhooks|audit)\/.+|src\/(assets|clock|errors)\.ts|pg|node:(?!process$).+)$/,
  'src/http/': anyOf(
    /src\/(http|pims|tenant|account|request-log|webhooks|audit)\/.+|src\/(assets|clock|errors)\.ts/,
    /(@?fastify|@scalar\/fastify-api-reference)(\/.+)?|@opentelemetry\/.+|prom-client|node:(?!(sqlite|process)$).+/,
  ),
  'src/cli/': /^(?!(src\/main\.ts|pg|node:sqlite|node:process)$)/,
  'dashboard/src/': anyOf(
    /dashboard\/src\/.+|preact(\/.+)?|papaparse|uqr/,
    /src\/(account\/(account-bounds|roles)|request-log\/log-bounds|http\/(operations\/names|contract\/documented-operations))\.ts/,
    /src\/(pims\/rules\/(decimal|lists|record-bounds|stages|totals)|tenant\/(keys|tenant))\.ts|client\/src\/fulfillment\.ts/,
  ),
};
/** Beyond that, with `import type` alone. */
const MAY_IMPORT_TYPES: Record<string, RegExp> = {
  'src/http/': /^src\/config\.ts$/,
  'dashboard/src/':
    /^(src\/(errors|http\/dashboard\/interface|pims\/(rules\/(fields|values)|reads\/filter))|client\/src\/contract)\.ts$/,
};

const RULES = {
  place: 'every source file has a row in the architecture table',
  import: 'every import in src and dashboard/src is one the architecture table allows',
  cycle: 'no source file imports itself, however long the way round',
  loader: 'nothing is loaded in ways the import rules cannot see',
  environment: 'the environment is read in src/main.ts and nowhere else',
  clock: 'src/pims has no clock, no chance, no timers and no process',
  time: 'the time is asked for, and waited for, in src/clock.ts; no test does either',
  console: 'the console is written to in src/cli and nowhere else',
  private: 'members that Node does not document are used in src/http/server/node-private.ts and nowhere else',
  sql: 'SQL is written in src/store and nowhere else',
  markup: 'the dashboard writes no HTML as text, which its policy would refuse',
  length: `no source file is longer than ${FILE_LINES_MAX} lines`,
  opening: 'every source file opens with a comment of 1 to 5 lines, its marks counted',
  unfinished: 'no source file has a note of unfinished work',
  name: 'no file or folder has a name that says nothing, and there are no barrels',
};
type Rule = keyof typeof RULES;
interface Fault {
  readonly rule: Rule;
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Files of test/ to which real time is the subject, with the reason. At most five; .oxlintrc.json names them too. */
const REAL_TIME: Record<string, string> = {
  'test/kit/clock.ts': 'is the time of the tests',
  'test/run.ts': 'ends what hangs, and tells how long a run took',
};

/** Habits found by their text. A false alarm is better than a gap. */
const HABITS: [Rule, where: RegExp, what: RegExp][] = [
  ['loader', /^(dashboard\/)?src\//, /\bgetBuiltinModule\b(?!\('node:http'\))|\bcreateRequire\b|\brequire\(/g],
  ['loader', /^(dashboard\/)?src\/(?!assets\.ts)/, /\bnew Worker\(/g],
  ['loader', /^(dashboard\/)?src\/(?!http\/)/, /\bgetBuiltinModule\('node:http/g],
  [
    'environment',
    /^src\/(?!main\.ts$)/,
    /\bprocess\??\.env\b|\bprocess\[|\benv\b[^=;\n]*\}\s*=\s*process\b|\bimport\.meta\.env/g,
  ],
  ['clock', /^src\/pims\//, /\bDate\.now\b|\bnew Date\b(?!\()|\bDate\(\)|\bMath\.random\b|\bTemporal\./g],
  [
    'clock',
    /^src\/pims\//,
    /\b(set(Timeout|Interval|Immediate)|queueMicrotask|fetch)\(|\b(performance|process|crypto)\.\w/g,
  ],
  // oxlint forbids the other ways.
  ['time', /^(src\/(?!clock\.ts$)|test\/(?!tidy\.test\.ts$))/, /\bnew Date\(\)|(?<![.\w ])Date\(\)/g],
  ['console', /^(dashboard\/)?src\/(?!cli\/)/, /\bconsole[.[]|=\s*console\b/g],
  [
    'private',
    /^src\/(?!http\/server\/node-private\.ts$)/,
    /\b(_paused|_handle|writeQueueSize|httpAllowHalfOpen|_httpMessage)\b/g,
  ],
  [
    'markup',
    /^dashboard\//,
    /\b(dangerouslySetInnerHTML|(inner|outer)HTML|insertAdjacentHTML|document\.write|setHTML\w*)\b/g,
  ],
  ['sql', /^src\/(?!store\/)/, /\b(SELECT\b[^'"`]*\bFROM|INSERT INTO|DELETE FROM|CREATE (TABLE|INDEX)|ALTER TABLE)\b/g],
];

const IMPORTS = [
  /(?<!['"])\bimport\s*(?<type>type\b)?\s*(?:[\w$*{][^'"`;()]*?\bfrom\s*)?['"](?<name>[^'"]+)['"]/g,
  /\bexport\s*(?<type>type\b)?\s*[*{][^'"`;()]*?\bfrom\s*['"](?<name>[^'"]+)['"]/g,
  /\bimport\(\s*(?:['"](?<name>[^'"]+)['"]\s*[,)])?/g,
  /(?<!function )\bstartThread\(\s*(?:new URL\(\s*['"](?<url>[^'"]+)['"]\s*,\s*import\.meta\.url\))?/g,
];

/** What a file imports, with its line. The target of a computed import, or of a path that makes detours, is '?'. */
function findImports(file: string, code: string) {
  return IMPORTS.flatMap((form) => [...code.matchAll(form)]).map(({ groups = {}, index }) => {
    const name = groups['name'] ?? groups['url']?.replace(/^(?!\.)/, './') ?? '?';
    const path = posix.join(posix.dirname(file), name);
    const target = !name.startsWith('.') ? name : name === nameRelative(file, path) ? path : '?';
    return { name, target, isType: groups['type'] !== undefined, line: lineAt(code, index) };
  });
}

function isAllowed(file: string, target: string, isType: boolean): boolean {
  const row = findRow(file);
  if (row === undefined || target === '?') return false;
  return MAY_IMPORT[row]!.test(target) || (isType && MAY_IMPORT_TYPES[row]?.test(target) === true);
}

const findRow = (file: string) =>
  Object.keys(MAY_IMPORT).find((row) => file === row || (row.endsWith('/') && file.startsWith(row)));
const nameRelative = (file: string, target: string) =>
  posix.relative(posix.dirname(file), target).replace(/^(?!\.)/, './');
const lineAt = (text: string, index: number) => text.slice(0, index).split('\n').length;
const countLines = (text: string) => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
/** Without comments that have their lines to themselves; the lines stay. */
const dropComments = (text: string) =>
  text.replace(/^[ \t]*(\/\/.*|\/\*[^]*?\*\/[ \t]*)$/gm, (comment) => '\n'.repeat(comment.split('\n').length - 1));

/** The walker: every fault of the tree under a folder. */
function findFaults(root: string): Fault[] {
  const faults: Fault[] = [];
  const ways = new Map<string, string[]>();
  for (const file of globSync(['{src,test,bench,tools,bin}/**/*.{ts,js}', 'dashboard/src/**/*.{ts,tsx}'], {
    cwd: root,
  })) {
    const report = (rule: Rule, line: number, text: string) => faults.push({ rule, file, line, text });
    if (/(^|\/)(utils?|helpers?|common|types|misc|index)[./]/.test(file)) report('name', 1, file);
    const source = readFileSync(join(root, file), 'utf8');
    const code = dropComments(source);
    for (const [rule, where, what] of HABITS)
      if (where.test(file) && !Object.hasOwn(REAL_TIME, file))
        for (const found of code.matchAll(what)) report(rule, lineAt(code, found.index), found[0]);
    if (!/^(dashboard\/)?src\//.test(file)) continue;

    const opening = /^(\/\*[^]*?\*\/|(\/\/.*\n)*)/.exec(source)![0];
    const openingLines = opening === '' ? 0 : countLines(opening);
    if (openingLines < 1 || openingLines > 5) report('opening', 1, `${openingLines} lines`);
    if (countLines(source) > FILE_LINES_MAX) report('length', FILE_LINES_MAX + 1, `${countLines(source)} lines`);
    for (const found of source.matchAll(/\b(TODO|FIXME)\b/g))
      report('unfinished', lineAt(source, found.index), found[0]);
    if (findRow(file) === undefined) report('place', 1, file);

    const imports = findImports(file, code);
    for (const { name, target, isType, line } of imports)
      if (!isAllowed(file, target, isType)) report('import', line, name);
    const targets = imports.map(({ target }) => target);
    ways.set(file, targets);
  }
  for (const [file, targets] of ways) {
    const reached = new Set(targets);
    for (const next of reached) for (const further of ways.get(next) ?? []) reached.add(further);
    if (reached.has(file)) faults.push({ rule: 'cycle', file, line: 1, text: file });
  }
  return faults;
}

suite('the tree', () => {
  const faults = findFaults(ROOT);
  for (const [rule, guarantee] of Object.entries(RULES))
    test(guarantee, () => {
      const found = faults
        .filter((fault) => fault.rule === rule)
        .map(({ file, line, text }) => `${file}:${line} ${text}`);
      assert.deepEqual(found, []);
    });

  test('no test is skipped, singled out or left for later', () => {
    for (const file of globSync('test/**/*.ts', { cwd: ROOT }))
      assert.doesNotMatch(
        readFileSync(join(ROOT, file), 'utf8'),
        /\.(skip|only|todo)\(|\b(skip|only|todo):\s*(true|['"`])/,
        file,
      );
  });

  test('real time is the subject of at most five files of test/, and the linter lets no other have it', () => {
    const config = readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8');
    const [, listed = ''] = /"files": (\[[^\]]*\]),\s*\/\/ Real time/.exec(config) ?? [];
    assert.deepEqual(JSON.parse(listed), Object.keys(REAL_TIME));
    assert.ok(Object.keys(REAL_TIME).length <= 5);
  });

  test('every dependency has one exact version', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
      string,
      Record<string, string> | undefined
    >;
    for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies'])
      for (const [name, version] of Object.entries(manifest[kind] ?? {}))
        assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, `${kind}: ${name}`);
  });
});

/** What is planted, in a file or in a folder that gets a file, and the rules of walker and oxlint that report it. */
type Plant = [guarantee: string, where: string, source: string, walker: Rule | null, oxlint?: string];

const [PROPERTY, GLOBAL, IMPORT] = ['no-restricted-properties', 'no-restricted-globals', 'no-restricted-imports'];
const CLOCKS = `setTimeout(a,1) setInterval(a,1) setImmediate(a) queueMicrotask(a) fetch('a') performance.now()
  crypto.randomUUID() Temporal.Now.instant()`.split(/\s+/);
const PLANTS: Plant[] = [
  ['pims cannot ask for the time', 'src/pims/', 'export const a = Date.now();', 'clock', PROPERTY],
  ['pims cannot ask for the date', 'src/pims/', 'export const a = new Date();', 'clock'],
  ['pims cannot throw dice', 'src/pims/', 'export const a = Math.random();', 'clock', PROPERTY],
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
    'http cannot load round the rules',
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
  ['http cannot start a worker round the rules', 'src/http/', "new Worker('a');", 'loader'],
  [
    'a half of a circle is reported',
    'src/tenant/cycle-a.ts',
    "import type { B } from './cycle-b.ts';\nexport type A = B | 1;",
    'cycle',
    'no-cycle',
  ],
  [
    'so is its other half, though both are of types',
    'src/tenant/cycle-b.ts',
    "import type { A } from './cycle-a.ts';\nexport type B = A | 2;",
    'cycle',
    'no-cycle',
  ],
  ['a file too long is reported', 'src/http/', '// a\n'.repeat(FILE_LINES_MAX), 'length', 'max-lines'],
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
  ['a drawer for everything is reported', 'src/http/utils.ts', '', 'name'],
  ['a folder for everything is reported', 'src/http/common/a.ts', '', 'name'],
  ['a barrel is reported', 'src/http/index.ts', '', 'name'],
  ['a file without an opening comment is reported', 'src/http/', 'export {};', 'opening'],
  ['a note of unfinished work is reported', 'src/http/', '// TODO', 'unfinished'],
];

/** The proof of the table: each of these imports, in four ways, each of the targets. */
const IMPORTERS = [
  ...Object.keys(MAY_IMPORT),
  'src/pims/rules/',
  'src/store/sqlite/',
  'src/store/sqlite/reads/',
  'src/http/dashboard/',
  'dashboard/src/ui/',
  'dashboard/src/pages/usage/',
];
const TARGETS = `
  src/main.ts src/assets.ts src/clock.ts src/errors.ts src/config.ts src/pims/a.ts src/tenant/a.ts src/audit/a.ts src/request-log/a.ts
  src/webhooks/a.ts node:dns undici src/account/a.ts src/store/a.ts src/store/pims/a.ts src/store/sqlite/a.ts src/http/a.ts src/http/dashboard/a.ts
  src/cli/a.ts node:fs node:net node:fs/promises node:crypto node:zlib node:sqlite node:process fs pg big.js fastify
  @fastify/cookie @scalar/fastify-api-reference pg prom-client @opentelemetry/api commander papaparse src/http/dashboard/interface.ts
  src/account/roles.ts src/tenant/keys.ts src/pims/rules/decimal.ts src/pims/rules/stages.ts src/pims/rules/totals.ts src/account/account-bounds.ts
  src/tenant/tenant.ts src/pims/rules/values.ts src/pims/rules/lifecycle.ts preact preact/hooks uqr vite`
  .trim()
  .split(/\s+/);

suite('the guards', () => {
  const copy = mkdtempSync(join(tmpdir(), 'storeroom-tidy-'));
  after(() => rmSync(copy, { recursive: true }));
  for (const part of [
    'src',
    'dashboard/src',
    'dashboard/tsconfig.json',
    'package.json',
    'tsconfig.json',
    '.oxlintrc.json',
  ])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));

  const plant = (where: string, name: string, source: (file: string) => string) => {
    const file = where.endsWith('.ts') ? where : `${where}planted-${name}.ts`;
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
    test(`what ${where} may not import, oxlint and the walker both report`, () => {
      const byWalker = new Set(
        faults.filter((fault) => fault.file === file && fault.rule === 'import').map(({ line }) => line),
      );
      const byOxlint = new Set(
        diagnostics.filter((one) => one.file === file && one.code === IMPORT).map(({ line }) => line),
      );
      const show = (lines: Set<number>) => [...lines].map((line) => importAll(file).split('\n')[line - 1]);
      assert.deepEqual(show(byWalker.difference(byOxlint)), [], 'missed by oxlint');
      assert.deepEqual(show(byOxlint.difference(byWalker)), [], 'missed by the walker');
      assert.ok(byWalker.isSupersetOf(new Set([1, 2, 3, 4])), 'src/main.ts, which nobody may import, in any way');
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

/** Imports every target in four ways, a line each; those in src also by two detours. */
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
  const { stdout, stderr } = spawnSync(process.execPath, [command, '--format=json', 'src', 'test', 'dashboard/src'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
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
