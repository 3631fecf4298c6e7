/**
 * The rules for the shape of the code (the architecture table, and habits found by their text), and the walker that
 * finds violations. tidy.test.ts runs it on the tree, guards.test.ts on planted faults.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');
/** Returns a pattern that matches a text if one of the given patterns matches all of it. */
const anyOf = (...patterns: RegExp[]): RegExp => new RegExp(`^(${patterns.map(({ source }) => source).join('|')})$`);

export const FILE_LINES_MAX = 350; // also in .oxlintrc.json
const GENERATED = 'client/src/contract.ts'; // may be longer

/** The folders of dashboard/src in their order. Each imports itself and those before it, but a page no other page. */
const DASHBOARD = ['browser', 'api', 'ui', 'records', 'pages', 'app'];
const PAGES = 'dashboard/src/pages/';
const dashboardRows = (rowOf: (folders: string) => RegExp): Record<string, RegExp> =>
  Object.fromEntries(
    DASHBOARD.map((folder, at) => [`dashboard/src/${folder}/`, rowOf(DASHBOARD.slice(0, at + 1).join('|'))]),
  );

/**
 * The architecture table: the paths in this repository, and the names of packages, that a file may import. Imports that
 * its row does not match are forbidden.
 */
export const MAY_IMPORT: Record<string, RegExp> = {
  'src/main.ts': /^(src\/cli\/.+|src\/(assets|clock)\.ts|node:module)$/,
  'src/assets.ts': /^node:(fs|path|sea|url|worker_threads)$/,
  'src/errors.ts': /(?!)/,
  'src/json-schema.ts': /(?!)/,
  'src/clock.ts': /^node:timers\/promises$/,
  'src/config.ts': /^(src\/errors\.ts|mcp\/src\/options\.ts|node:net)$/,
  'src/pims/': /^(src\/pims\/.+|src\/errors\.ts|big\.js)$/,
  'src/audit/': /^(src\/audit\/.+|src\/errors\.ts|node:crypto)$/,
  'src/tenant/': /^(src\/(tenant|audit)\/.+|src\/(clock|errors)\.ts|node:(crypto|util|zlib))$/,
  'src/request-log/': /^(src\/(request-log|tenant)\/.+|src\/(clock|errors)\.ts|node:(crypto|util|zlib))$/,
  'src/account/':
    /^(src\/(account|audit|tenant)\/.+|src\/(clock|errors)\.ts|node:(crypto|util|zlib)|@zxcvbn-ts\/.+|ipaddr\.js)$/,
  'src/webhooks/':
    /^(src\/(webhooks|pims|tenant|audit)\/.+|src\/(clock|errors)\.ts|node:(crypto|dns(\/promises)?|https?|net|util))$/,
  'src/administration/':
    /^src\/((administration|pims|tenant|account|request-log|webhooks|audit)\/.+|(assets|clock|errors|json-schema)\.ts)$/,
  'src/store/':
    /^(src\/(store|pims|tenant|account|request-log|webhooks|audit)\/.+|src\/(assets|clock|errors)\.ts|pg|node:(?!process$).+)$/,
  'src/http/': anyOf(
    /src\/(http|administration|pims|tenant|account|request-log|webhooks|audit)\/.+|src\/(assets|clock|errors|json-schema)\.ts/,
    /@?fastify(\/.+)?|@opentelemetry\/.+|@prometheus-io\/client|node:(?!(sqlite|process)$).+/,
  ),
  'src/cli/': /^(?!(src\/main\.ts|pg|node:sqlite|node:process)$)/,
  'mcp/src/':
    /^((mcp|client)\/src\/.+|mcp\/package\.json|openapi\.json|src\/(errors|http\/contract\/documented-operations)\.ts|@modelcontextprotocol\/server(\/stdio)?|node:(?!process$).+)$/,
  'client/src/': /^client\/src\/.+/,
  'dashboard/src/main.tsx': /^(dashboard\/src\/app\/.+|preact)$/,
  ...dashboardRows((folders) =>
    anyOf(
      new RegExp(`dashboard/src/(${folders})/.+|preact(/.+)?|uqr`),
      /src\/(account\/(account-bounds|roles)|request-log\/logged-request|http\/(operations\/names|contract\/documented-operations))\.ts/,
      /src\/(pims\/csv\/(columns|csv-reader|formulas)|pims\/rules\/(decimal|lists|record-bounds|stages|totals)|tenant\/(keys|tenant))\.ts|client\/src\/fulfillment\.ts/,
    ),
  ),
};
/** Further imports, which are allowed only with `import type`. */
export const MAY_IMPORT_TYPES: Record<string, RegExp> = {
  'src/http/': /^src\/config\.ts$/,
  ...dashboardRows(
    () =>
      /^(src\/(errors|http\/dashboard\/interface|pims\/(rules\/(fields|values)|reads\/query))|client\/src\/contract)\.ts$/,
  ),
};

export const RULES = {
  place: 'every source file has a row in the architecture table',
  import: 'every import in src, client/src, mcp/src and dashboard/src is one the architecture table allows',
  cycle: 'no source file imports itself, directly or through others',
  circle: 'no folder of these sources imports itself, directly or through others, types included',
  loader: 'nothing is loaded in ways the import rules cannot see',
  environment: 'the environment is read in src/main.ts only',
  clock: 'src/pims has no clock, no random numbers, no timers and no process',
  time: 'only src/clock.ts reads the time and waits for it; no test does either',
  console: 'only src/cli writes to the console',
  private: 'only src/http/server/node-http.ts uses members that Node does not document',
  sql: 'only src/store has SQL',
  markup: 'the dashboard writes no HTML as text, which its policy would block',
  length: `no source file is longer than ${FILE_LINES_MAX} lines`,
  opening: 'every source file opens with a comment of 1 to 5 lines, its marks counted',
  unfinished: 'no source file has a note of unfinished work',
  name: 'no file or folder has a catch-all name, and there are no barrels',
};
export type Rule = keyof typeof RULES;
interface Fault {
  readonly rule: Rule;
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Files of test/ that may use real time, with the reason. There are at most five; .oxlintrc.json lists them too. */
export const REAL_TIME: Record<string, string> = {
  'test/kit/clock.ts': 'is the time of the tests',
  'test/kit/wait.ts': 'ends waits in vain',
  'test/run.ts': 'ends tests that hang, and prints how long a run took',
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
  // oxlint forbids the other ways to read the time.
  ['time', /^(src\/(?!clock\.ts$)|test\/(?!guards\.test\.ts$))/, /\bnew Date\(\)|(?<![.\w ])Date\(\)/g],
  ['console', /^(dashboard\/)?src\/(?!cli\/)/, /\bconsole[.[]|=\s*console\b/g],
  [
    'private',
    /^src\/(?!http\/server\/node-http\.ts$)/,
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

/** Finds the imports of a file with their lines. Computed imports, and paths with detours, have the target '?'. */
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
  if (row === PAGES && target.startsWith(PAGES) && posix.dirname(target) !== posix.dirname(file)) return false;
  return MAY_IMPORT[row]!.test(target) || (isType && MAY_IMPORT_TYPES[row]?.test(target) === true);
}

/** An import of another folder. */
interface Crossing {
  readonly file: string;
  readonly line: number;
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

const SOURCE = /^((client|dashboard|mcp)\/)?src\//;
/** Returns the folder of a file. A file in no folder of its sources, such as main.ts, is its own room. */
const roomOf = (file: string) => (/\//.test(file.replace(SOURCE, '')) ? posix.dirname(file) : file);

/** Lists what a file or folder imports, directly or not. */
function listReached(ways: ReadonlyMap<string, ReadonlySet<string>>, from: string): ReadonlySet<string> {
  const reached = new Set(ways.get(from));
  for (const next of reached) for (const further of ways.get(next) ?? []) reached.add(further);
  return reached;
}

const findRow = (file: string) =>
  Object.keys(MAY_IMPORT).find((row) => file === row || (row.endsWith('/') && file.startsWith(row)));
export const nameRelative = (file: string, target: string) =>
  posix.relative(posix.dirname(file), target).replace(/^(?!\.)/, './');
const lineAt = (text: string, index: number) => text.slice(0, index).split('\n').length;
const countLines = (text: string) => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
/** Removes comments that have lines to themselves, and keeps those lines, empty. */
const dropComments = (text: string) =>
  text.replace(/^[ \t]*(\/\/.*|\/\*[^]*?\*\/[ \t]*)$/gm, (comment) => '\n'.repeat(comment.split('\n').length - 1));

/** Finds every fault of the tree under a folder. */
export function findFaults(root: string): Fault[] {
  const faults: Fault[] = [];
  const ways = new Map<string, Set<string>>();
  const rooms = new Map<string, Set<string>>();
  const crossings: Crossing[] = [];
  const trees = '{src,client/src,dashboard/src,mcp/src,test,bench,tools,bin}';
  for (const file of globSync(`${trees}/**/*.{ts,tsx,js}`, { cwd: root })) {
    const report = (rule: Rule, line: number, text: string) => faults.push({ rule, file, line, text });
    if (/(^|\/)(utils?|helpers?|common|types|misc|index)[./]/.test(file)) report('name', 1, file);
    const source = readFileSync(join(root, file), 'utf8');
    const code = dropComments(source);
    for (const [rule, where, what] of HABITS)
      if (where.test(file) && !Object.hasOwn(REAL_TIME, file))
        for (const found of code.matchAll(what)) report(rule, lineAt(code, found.index), found[0]);
    if (!SOURCE.test(file)) continue;

    const opening = /^(\/\*[^]*?\*\/|(\/\/.*\n)*)/.exec(source)![0];
    const openingLines = opening === '' ? 0 : countLines(opening);
    if (openingLines < 1 || openingLines > 5) report('opening', 1, `${openingLines} lines`);
    if (countLines(source) > FILE_LINES_MAX && file !== GENERATED)
      report('length', FILE_LINES_MAX + 1, `${countLines(source)} lines`);
    for (const found of source.matchAll(/\b(TODO|FIXME)\b/g))
      report('unfinished', lineAt(source, found.index), found[0]);
    if (findRow(file) === undefined) report('place', 1, file);

    const imports = findImports(file, code);
    for (const { name, target, isType, line } of imports)
      if (!isAllowed(file, target, isType)) report('import', line, name);
    ways.set(file, new Set(imports.map(({ target }) => target)));
    for (const { name, target, line } of imports) {
      const [from, to] = [roomOf(file), roomOf(target)];
      if (from === to || !SOURCE.test(to)) continue;
      rooms.getOrInsertComputed(from, () => new Set()).add(to);
      crossings.push({ file, line, name, from, to });
    }
  }
  for (const file of ways.keys())
    if (listReached(ways, file).has(file)) faults.push({ rule: 'cycle', file, line: 1, text: file });
  for (const { file, line, name, from, to } of crossings)
    if (listReached(rooms, to).has(from)) faults.push({ rule: 'circle', file, line, text: name });
  return faults;
}
