/**
 * Begin here. `npm run test:mutation` plants one small mistake at a time in a copy of the tree and runs the tests that
 * reach it, quick tests first: for ten minutes in what the branch changed, or in the named files. A mistake that no
 * test notices is a survivor. survivors.md has the known ones; a new one makes the run fail. README.md has the options.
 */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { PostgresServer } from '../../test/kit/postgres.ts';
import { findBase, findChanges } from './changes.ts';
import { findMutants, type Mutant } from './mutants.ts';
import { chooseFolders, ROOT, type Unit } from './units.ts';

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
type Fate = (typeof KINDS)[number] | 'untried';
interface Verdict {
  readonly fate: Fate;
  /** The test that has noticed the mutant. */
  readonly by?: Baseline;
}
/** Returns the tests of a stage, which are measured when they are first asked for. */
type Stage = () => Promise<Baseline[]>;

/** Files and folders that no listed test needs, so the copy lacks them. */
const LEFT_OUT = ['.git', '.env', 'node_modules', 'build', 'data', 'coverage', '.bench', 'tls'];
const SCORE_MIN = 85;
/** Time for planting in what a branch changed, with all that the run needs. */
const CHANGED_MS = 600_000;
const MEASURE_MS = 300_000;
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
  options: {
    all: { type: 'boolean', default: false },
    since: { type: 'string', default: '' },
    stages: { type: 'string', default: '4' },
    name: { type: 'string', default: '' },
  },
  allowPositionals: true,
});
const isOfChanges = named.length === 0 && !flags.all;
const base = isOfChanges ? flags.since || findBase() : '';
const changes = isOfChanges ? findChanges(base) : new Map<string, never>();
const endsAt = isOfChanges ? CHANGED_MS : Number.POSITIVE_INFINITY;
const leftMs = (): number => Math.max(0, endsAt - performance.now());
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
  // A timer drops fractions, so it would end a moment before the run does.
  const timer = setTimeout(() => tell(undefined), Math.ceil(ms) + 1);
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
  const code = await runUnit(unit, Math.min(MEASURE_MS, leftMs()), coverage);
  if (code !== 0 && leftMs() > 0) throw new Error(`${nameOf(unit)} fails without any mutant`);
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

/** Measures units, two at a time, until the time of the run is over. */
function openStage(units: readonly Unit[]): Stage {
  const measureAll = async (): Promise<Baseline[]> => {
    const waiting = [...units];
    const measured: Baseline[] = [];
    const measureSome = async (): Promise<void> => {
      for (let unit = waiting.shift(); unit && leftMs() > 0; unit = waiting.shift()) measured.push(await measure(unit));
    };
    await Promise.all([measureSome(), measureSome()]);
    return measured;
  };
  let measured: Promise<Baseline[]> | undefined;
  return () => (measured ??= measureAll());
}

const nameOf = ({ file, suite = '' }: Unit): string => [file, suite.replaceAll(/[\^\\]/g, '')].join(' ').trim();

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
  const code = await runUnit(unit, Math.min(patience(ms), leftMs()));
  if (code !== undefined) return code === 0 ? undefined : 'killed';
  plant(false);
  const startedAt = performance.now();
  const unplanted = await runUnit(unit, Math.min(MEASURE_MS, leftMs()));
  if (leftMs() === 0) return 'untried';
  if (unplanted !== 0) throw new Error(`${nameOf(unit)} fails without any mutant`);
  const nowMs = performance.now() - startedAt;
  plant(true);
  const again = await runUnit(unit, Math.min(2 * patience(Math.max(ms, nowMs)), leftMs()));
  if (leftMs() === 0) return 'untried';
  return again === undefined ? 'endless' : again === 0 ? undefined : 'killed';
}

async function judge(mutant: Mutant, stages: readonly Stage[], killers: Map<string, Baseline>): Promise<Verdict> {
  const path = join(copy, mutant.file);
  const source = readFileSync(path, 'utf8');
  const mutated = source.slice(0, mutant.start) + mutant.after + source.slice(mutant.end);
  const plant = (isIn: boolean): void => writeFileSync(path, isIn ? mutated : source);
  // The unit that noticed the last mutant of the same function runs first.
  const where = functionOf(mutant);
  const rank = (one: Baseline): number => (killers.get(where) === one ? 0 : one.ms);
  try {
    let [isReached, isCompiled] = [false, false];
    for (const stage of stages) {
      plant(false);
      const measured = await stage();
      plant(true);
      for (const by of measured.filter((one) => reaches(one, mutant)).toSorted((a, b) => rank(a) - rank(b))) {
        isReached = true;
        const fate = await notices(by, plant);
        if (leftMs() === 0 && fate !== 'killed') return { fate: 'untried' };
        if (fate === undefined) continue;
        killers.set(where, by);
        return { fate, by };
      }
      if (!isCompiled && !compiles()) return { fate: 'not compiled' };
      isCompiled = true;
    }
    return { fate: leftMs() === 0 ? 'untried' : isReached ? 'survived' : 'unreached' };
  } finally {
    plant(false);
  }
}

const functionOf = ({ name }: Mutant): string => name.slice(0, name.indexOf(':'));
const mutantsOf = (file: string): Mutant[] =>
  findMutants(file, readFileSync(join(copy, file), 'utf8')).filter(({ name }) => fits.test(name));

async function mutateFile(file: string, stages: readonly Stage[]): Promise<[Mutant, Fate][]> {
  const fates: [Mutant, Fate][] = [];
  const killers = new Map<string, Baseline>();
  for (const mutant of mutantsOf(file)) {
    const { fate } = await judge(mutant, stages, killers);
    fates.push([mutant, fate]);
    const known = !isAlive(fate) ? '' : judged.has(mutant.name) ? 'judged ' : 'NEW ';
    if (known || fate === 'endless') process.stdout.write(`${known}${fate} line ${mutant.line}: ${mutant.name}\n`);
  }
  return fates;
}

/** Plants in the changed lines, in each function in turn, and tells who has noticed. Returns all fates. */
async function mutateChanges(): Promise<[Mutant, Fate][]> {
  const turns = new Map<string, number>();
  const planned = folders.flatMap(({ files, stages }) => {
    const opened = stages.map(openStage);
    return files.flatMap(mutantsOf).flatMap((mutant) => {
      const isChanged = changes.get(mutant.file)!.some(([first, last]) => first <= mutant.line && mutant.line <= last);
      if (!isChanged || judged.has(mutant.name)) return [];
      const turn = turns.get(functionOf(mutant)) ?? 0;
      turns.set(functionOf(mutant), turn + 1);
      return [{ mutant, turn, opened }];
    });
  });
  const left = [...changes.keys()].filter((file) => !folders.some(({ files }) => files.includes(file)));
  process.stdout.write(`${planned.length} mistakes in what ${base} did not have, for ten minutes.\n`);
  for (const file of left) process.stdout.write(`No test is listed for ${file}.\n`);
  const fates: [Mutant, Fate][] = [];
  const killers = new Map<string, Baseline>();
  for (const { mutant, opened } of planned.toSorted((a, b) => a.turn - b.turn)) {
    const { fate, by }: Verdict = leftMs() === 0 ? { fate: 'untried' } : await judge(mutant, opened, killers);
    fates.push([mutant, fate]);
    if (fate === 'untried') continue;
    const told = by ? `noticed by ${nameOf(by.unit)}` : fate === 'not compiled' ? 'does not compile' : `NEW ${fate}`;
    process.stdout.write(`${told}: line ${mutant.line} of ${mutant.name}\n`);
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
/** Plants everywhere in the chosen files, and tells what was not noticed. */
async function mutateFolders(): Promise<void> {
  for (const { pattern, files, stages } of folders.filter((folder) => folder.files.length > 0)) {
    const opened = stages.map(openStage);
    const all: [Mutant, Fate][] = [];
    for (const file of files) {
      const fates = await mutateFile(file, opened);
      if (fates.length > 0) report(file, fates);
      all.push(...fates);
    }
    if (files.length > 1) report(pattern, all);
    if (scoreOf(all) < SCORE_MIN || all.some(([{ name }, fate]) => isAlive(fate) && !judged.has(name))) isGood = false;
  }
}

const folders = chooseFolders(
  (file) => (isOfChanges ? changes.has(file) : flags.all || named.some((name) => matchesGlob(file, name))),
  !flags.all,
).map((folder) => ({ ...folder, stages: folder.stages.slice(0, Number(flags.stages)) }));
if (named.length > 0 && folders.every(({ files }) => files.length === 0))
  throw new Error(`No test is listed for ${named.join(' ')}.`);
const server = await PostgresServer.start();
databaseUrl = server.url;
let isGood = true;
const rows: string[] = [];
try {
  for (const part of readdirSync(ROOT).filter((name) => !LEFT_OUT.includes(name)))
    cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  if (!compiles()) throw new Error('The copy does not compile without any mutant, so no mutant would');
  if (isOfChanges) {
    const fates = await mutateChanges();
    isGood = !fates.some(([, fate]) => isAlive(fate));
    const tried = fates.filter(([, fate]) => fate !== 'untried');
    if (tried.length > 0) report('what was changed', tried);
    const untried = count(fates, 'untried');
    const filesLeft = [...new Set(fates.flatMap(([{ file }, fate]) => (fate === 'untried' ? [file] : [])))].join(' ');
    if (untried > 0)
      process.stdout.write(`${untried} more were not planted in ten minutes. Name their files: ${filesLeft}.\n`);
  } else await mutateFolders();
} finally {
  await server.remove();
  rmSync(work, { recursive: true, force: true });
}
process.stdout.write(`
| files | mutants | ${KINDS.join(' | ')} | score |
|---|---|---|---|---|---|---|---|
${rows.join('\n')}
${isGood ? 'Good' : `Not good: a survivor is new, or a score is below ${SCORE_MIN} %`}.
`);
process.exitCode = isGood ? 0 : 1;
