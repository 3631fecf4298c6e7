/**
 * Begin here. `npm run test:mutation [-- file…]` plants one small mistake at a time in a copy of the tree and runs the
 * tests that reach it, quick tests first. A mistake that no test notices is a survivor. survivors.md has the known
 * ones; a new one makes the run fail. README.md has the options.
 */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { PostgresServer } from '../../test/kit/postgres.ts';
import { findMutants, type Mutant } from './mutants.ts';

/** A test file, or its suites with this name. */
interface Unit {
  readonly file: string;
  readonly suite?: string;
}
interface Baseline {
  readonly unit: Unit;
  readonly ms: number;
  /** Ranges from V8 for each source file that ran. For a character, its innermost range says whether it ran. */
  readonly ranges: Map<string, Range[][]>;
}
interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}
const KINDS = ['not compiled', 'killed', 'endless', 'survived', 'unreached'] as const;
type Fate = (typeof KINDS)[number];

const ROOT = resolve(import.meta.dirname, '../..');
const CONTRACT = [
  'numbers and outcomes',
  'repeated writes',
  'orders, lines and stock',
  'queries',
  'import and export',
  'field dictionaries',
  'tenants, keys and usage',
  'people and sessions',
];
const contract = (store: string): Unit[] => CONTRACT.map((suite) => ({ file: `test/store/${store}.test.ts`, suite }));
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
  'src/pims/operations.ts': [
    filesOf(
      'test/api/{get*,findOrdersByStorefrontReference,custom-fields,idempotency}.test.ts',
      'test/system/cli-order.test.ts',
    ),
  ],
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
  'src/http/call/{stages,admit,cursor}.ts': [
    filesOf(
      'test/api/{authentication,authorization-header,idempotency,metering,order-of-checks,paging}.test.ts',
      'test/limits/{bodies,cursors}.test.ts',
    ),
    filesOf('test/limits/room.test.ts', 'test/request-log/*.test.ts', 'test/dashboard/orders-and-fields.test.ts'),
  ],
};
const WIDE = filesOf('test/api/*.test.ts', 'test/limits/{cursors,lines}.test.ts');
const WIDE_FOLDERS = /^src\/(pims|tenant|http|store)\//;
const PARTS = [
  'src',
  'test',
  'tools',
  'bin',
  'demo',
  'docs',
  'dashboard',
  'openapi.json',
  'package.json',
  'tsconfig.json',
];
const SCORE_MIN = 85;
/** Returns the time after which a test with a mutant counts as endless, from its time without a mutant. */
const patience = (ms: number): number => 5000 + 6 * ms;
/** Ends the process at the first test that fails. */
const REPORTER = `data:text/javascript,export default async function* (events) {
  for await (const { type } of events) if (type === 'test:fail') process.exit(1);
}`;
/** Makes password hashes quick. Tests of accounts mostly hash, but only those of password.ts need real hashes. */
const QUICK_HASHES = `data:text/javascript,import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
const { argon2 } = crypto;
crypto.argon2 = (name, cost, tell) => argon2(name, { ...cost, memory: 64, passes: 1 }, tell);
syncBuiltinESMExports();`;

const { values: flags, positionals: named } = parseArgs({
  options: { stages: { type: 'string', default: '3' }, name: { type: 'string', default: '' } },
  allowPositionals: true,
});
const fits = new RegExp(flags.name);
const judged = new Set(
  [...readFileSync(join(ROOT, 'tools/mutation/survivors.md'), 'utf8').matchAll(/^```mutants\n([^]*?)^```/gm)].flatMap(
    ([, text]) => text!.trim().split('\n'),
  ),
);
const work = mkdtempSync(join(tmpdir(), 'storeroom-mutation-'));
const copy = join(work, 'tree');
let databaseUrl = '';

/** Runs a unit and returns its exit code, or undefined if it does not end in time. */
async function runUnit({ file, suite }: Unit, ms: number, coverage?: string): Promise<number | undefined> {
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const env = {
    ...environment,
    STOREROOM_TEST_DATABASE_URL: databaseUrl,
    ...(coverage ? { NODE_V8_COVERAGE: coverage } : { NODE_COMPILE_CACHE: join(work, 'cache') }),
  };
  const pattern = suite === undefined ? [] : [`--test-name-pattern=${suite}`];
  const hashes = /^test\/account\/(?!password)/.test(file) ? [`--import=${QUICK_HASHES}`] : [];
  const options = ['--max-old-space-size=1024', `--test-reporter=${REPORTER}`, ...hashes, ...pattern];
  const child = spawn(process.execPath, [...options, file], { cwd: copy, env, stdio: 'ignore', detached: true });
  const { promise, resolve: tell } = Promise.withResolvers<number | undefined>();
  const timer = setTimeout(() => tell(undefined), ms);
  child.once('exit', (code) => tell(code ?? 1));
  const code = await promise;
  clearTimeout(timer);
  try {
    process.kill(-child.pid!, 'SIGKILL'); // also ends the services that the test has started
  } catch {
    // All processes of the group have already ended.
  }
  return code;
}

async function measure(unit: Unit): Promise<Baseline> {
  const coverage = mkdtempSync(join(work, 'coverage-'));
  const startedAt = performance.now();
  const code = await runUnit(unit, 300_000, coverage);
  if (code !== 0) throw new Error(`${unit.file} ${unit.suite ?? ''} fails without any mutant`);
  const ms = performance.now() - startedAt;
  const ranges: Baseline['ranges'] = new Map();
  const prefix = `${pathToFileURL(copy).href}/`;
  for (const name of readdirSync(coverage)) {
    const text = readFileSync(join(coverage, name), 'utf8');
    if (!text.endsWith('}')) continue; // the file of a killed process is incomplete
    const { result } = JSON.parse(text) as { result: { url: string; functions: { ranges: Range[] }[] }[] };
    for (const { url, functions } of result) {
      if (!url.startsWith(`${prefix}src/`)) continue;
      const file = url.slice(prefix.length);
      const scripts = ranges.get(file) ?? [];
      ranges.set(file, [...scripts, functions.flatMap((one) => one.ranges)]);
    }
  }
  rmSync(coverage, { recursive: true });
  return { unit, ms, ranges };
}

function reaches({ ranges }: Baseline, { file, start }: Mutant): boolean {
  return (ranges.get(file) ?? []).some((script) => {
    const around = script.filter(({ startOffset, endOffset }) => startOffset <= start && start < endOffset);
    const inner = around.toSorted((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset))[0];
    return inner !== undefined && inner.count > 0;
  });
}

function compiles(): boolean {
  const config = join(copy, 'tsconfig.mutation.json');
  const options = { incremental: true, tsBuildInfoFile: join(copy, 'mutation.tsbuildinfo') };
  writeFileSync(config, JSON.stringify({ extends: './tsconfig.json', compilerOptions: options, include: ['src'] }));
  return spawnSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', config]).status === 0;
}

/** Returns how a unit notices the planted mutant, if it does. A slow unit is measured again without the mutant. */
async function notices({ unit, ms }: Baseline, plant: (isIn: boolean) => void): Promise<Fate | undefined> {
  const code = await runUnit(unit, patience(ms));
  if (code !== undefined) return code === 0 ? undefined : 'killed';
  plant(false);
  const startedAt = performance.now();
  if ((await runUnit(unit, 300_000)) !== 0) throw new Error(`${unit.file} fails without any mutant`);
  const nowMs = performance.now() - startedAt;
  plant(true);
  const again = await runUnit(unit, 2 * patience(Math.max(ms, nowMs)));
  return again === undefined ? 'endless' : again === 0 ? undefined : 'killed';
}

async function judge(mutant: Mutant, stages: Baseline[][], killers: Map<string, Baseline>): Promise<Fate> {
  const path = join(copy, mutant.file);
  const source = readFileSync(path, 'utf8');
  const mutated = source.slice(0, mutant.start) + mutant.after + source.slice(mutant.end);
  const plant = (isIn: boolean): void => writeFileSync(path, isIn ? mutated : source);
  // The unit that noticed the last mutant of the same function runs first.
  const where = mutant.name.slice(0, mutant.name.indexOf(':'));
  const rank = (one: Baseline): number => (killers.get(where) === one ? 0 : one.ms);
  plant(true);
  try {
    let [isReached, isCompiled] = [false, false];
    for (const stage of stages) {
      for (const baseline of stage.filter((one) => reaches(one, mutant)).toSorted((a, b) => rank(a) - rank(b))) {
        isReached = true;
        const fate = await notices(baseline, plant);
        if (fate === undefined) continue;
        killers.set(where, baseline);
        return fate;
      }
      if (!isCompiled && !compiles()) return 'not compiled';
      isCompiled = true;
    }
    return isReached ? 'survived' : 'unreached';
  } finally {
    plant(false);
  }
}

async function mutateFile(file: string, stages: Baseline[][]): Promise<[Mutant, Fate][]> {
  const fates: [Mutant, Fate][] = [];
  const killers = new Map<string, Baseline>();
  for (const mutant of findMutants(file, readFileSync(join(copy, file), 'utf8')).filter(({ name }) =>
    fits.test(name),
  )) {
    const fate = await judge(mutant, stages, killers);
    fates.push([mutant, fate]);
    const known = !isAlive(fate) ? '' : judged.has(mutant.name) ? 'judged ' : 'NEW ';
    if (known || fate === 'endless') process.stdout.write(`${known}${fate} line ${mutant.line}: ${mutant.name}\n`);
  }
  return fates;
}

const isAlive = (fate: Fate): boolean => fate === 'survived' || fate === 'unreached';
const count = (fates: [Mutant, Fate][], ...kinds: Fate[]): number =>
  fates.filter(([, fate]) => kinds.includes(fate)).length;
const scoreOf = (fates: [Mutant, Fate][]): number =>
  (100 * count(fates, 'killed', 'endless')) / (fates.length - count(fates, 'not compiled'));
function report(name: string, fates: [Mutant, Fate][]): void {
  const counts = KINDS.map((kind) => count(fates, kind));
  const row = `| ${[name, fates.length, ...counts].join(' | ')} | ${scoreOf(fates).toFixed(1)} % |`;
  rows.push(row);
  process.stdout.write(`${row}\n`);
}
const isChosen = (file: string): boolean => named.length === 0 || named.some((name) => matchesGlob(file, name));
const folders = Object.entries(FOLDERS).map(([pattern, units]) => ({
  pattern,
  files: globSync(pattern, { cwd: ROOT }).toSorted().filter(isChosen),
  units,
}));
const server = folders.some(({ files }) => files.some((file) => file.includes('postgres')))
  ? await PostgresServer.start()
  : undefined;
databaseUrl = server?.url ?? '';
let isGood = true;
const rows: string[] = [];
try {
  for (const part of PARTS) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (const { pattern, files, units } of folders) {
    if (files.length === 0) continue;
    const isWide = WIDE_FOLDERS.test(pattern) && !pattern.includes('postgres');
    const stages: Baseline[][] = [];
    for (const stage of [...units, ...(isWide ? [WIDE] : [])].slice(0, Number(flags.stages))) {
      const measured: Baseline[] = [];
      for (const unit of stage) measured.push(await measure(unit));
      stages.push(measured);
    }
    const all: [Mutant, Fate][] = [];
    for (const file of files) {
      const fates = await mutateFile(file, stages);
      if (fates.length > 0) report(file, fates);
      all.push(...fates);
    }
    if (files.length > 1) report(pattern, all);
    if (scoreOf(all) < SCORE_MIN || all.some(([{ name }, fate]) => isAlive(fate) && !judged.has(name))) isGood = false;
  }
} finally {
  await server?.remove();
  rmSync(work, { recursive: true, force: true });
}
process.stdout.write(`
| files | mutants | ${KINDS.join(' | ')} | score |
|---|---|---|---|---|---|---|---|
${rows.join('\n')}
${isGood ? 'Good' : `Not good: a survivor is new, or a score below ${SCORE_MIN} %`}.
`);
process.exitCode = isGood ? 0 : 1;
