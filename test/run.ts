/**
 * Runs `npm test`, `npm run test:all` (--all), and both with `-- file…` on the store of STOREROOM_TEST_STORE. A few
 * processes take the files one by one (kit/worker.ts) and share a PostgreSQL. The run fails if a test fails, is skipped
 * or todo, or if a file has no tests, hangs or ends its process. The run works in a temporary folder
 * (kit/run-folder.ts), and fails if something is left there. The output ends with the sum of the counts.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { globSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { unpackChromium } from './kit/chromium.ts';
import { PostgresServer, runStatement, SERVER_FOLDER } from './kit/postgres.ts';
import { END, noTests, type Ended, type FileReport, type TestBegun } from './kit/report.ts';
import { openRunFolder } from './kit/run-folder.ts';
import { SLOW } from './slow.ts';

interface Pass {
  readonly store: string;
  /** The time zone of its processes, if it differs from the machine's. */
  readonly zone?: string;
  /** The files that no process has taken yet. */
  readonly files: string[];
}

type Choice = (file: string) => boolean;

const ROOT = resolve(import.meta.dirname, '..');
/**
 * One more than the processors, because tests often wait for disks and processes. Each worker loads modules and starts
 * services, so more cost more: on two processors, six took a third more processor time than three.
 */
const WORKERS = Math.min(8, availableParallelism() + 1);
/** Number of workers that run the dashboard's pages first. The others run them last, so that few browsers start. */
const PAGE_WORKERS = 2;
const PAGES = /^test\/dashboard\/pages-/;
const FILE_MS = 600_000;
/**
 * Maximum time of a hundred power losses, of an image, of four releases, and of a hundred runs on both stores, which take
 * that long on a busy machine.
 */
const LONGEST_FILE_MS = 1_800_000;
const LONGEST = /^test\/(differential\/|faults\/|deploy\/image\.ts|release\/reproducible\.ts)/;
/** The line before the faults in the reporter's output. The faults are printed again at the end, where people look. */
const FAILURES = /^.*failing tests:$/m;
const FAILURES_CHARACTERS_MAX = 6000;
/** Maximum time for the end of what a worker shares: with a load of 30, its services took more than half a minute. */
const END_MS = 120_000;
const TELL_MS = 5000;
const STAYS_OPEN = 'something stays open in the process (if it says nothing about it, something blocks it)';
/**
 * On a disk, a checkpoint syncs every file that any test has written. Commits can wait behind that for longer than a
 * service waits for a silent server, and calls get 503.
 */
const NO_CHECKPOINTS = { checkpoint_timeout: '1d', max_wal_size: '16GB' };
const CLEAR_LOOK_MS = 20;
/** Files that run early, so that the last file to end is a short one. */
const LONG = /^test\/(system|account|docs|limits\/packed)/;
/**
 * The files that `npm run test:all` repeats, briefly, half a day from UTC: the tests of rules, of CSV, of backups and of
 * waits. Those that mostly hash passwords are left out.
 */
const FAR_FROM_UTC = [
  'test/{audit,pims,request-log,tenant}/*.test.ts',
  'test/account/{second-factor,sessions,throttle}.test.ts',
  'test/store/sqlite-{backup,scheduled-backups}.test.ts',
  'test/system/{csv-*,time}.test.ts',
  'test/clock.test.ts',
];
const words = process.argv.slice(2);
const isAll = words.includes('--all');
const named = words.filter((word) => word !== '--all').map((file) => relative(ROOT, resolve(file)));
const passes: readonly Pass[] =
  named.length > 0 ? [{ store: process.env['STOREROOM_TEST_STORE'] || 'sqlite', files: [...named] }] : choosePasses();

const sums = noTests();
const bad: string[] = [];
const workers = new Set<ChildProcess>();
/** Removals of the folders of workers that have ended. */
const removals: Promise<void>[] = [];
const cut = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    cut.abort();
    for (const worker of workers) endGroup(worker);
  });

function choosePasses(): Pass[] {
  // Pages show answers of the service, so a few of them are enough. Answers are compressed above the store.
  const fitsBoth = [
    'test/api/*.test.ts',
    'test/dashboard/!(pages-)*.test.ts',
    'test/dashboard/pages-{records,shop-day}.test.ts',
    'test/limits/!(packed-answers).test.ts',
    'test/client/operations.test.ts',
    'test/system/{check,first-start,kill,online-retail,request-log-kill,stop}.test.ts',
  ];
  const choose = (store: string, patterns: string[]): Pass => {
    const files = patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).toSorted();
    const isSlow = (file: string): boolean =>
      SLOW.some((slow) => slow.files.includes(file) && (slow.store ?? store) === store);
    const rank = (file: string): number => [PAGES, LONG, /./].findIndex((pattern) => pattern.test(file));
    const chosen = files.filter((file) => isAll || !isSlow(file));
    return { store, files: chosen.toSorted((a, b) => rank(a) - rank(b)) };
  };
  const far = { ...choose('sqlite', FAR_FROM_UTC), zone: 'Pacific/Auckland' };
  return [choose('sqlite', ['test/**/*.test.ts']), choose('postgres', fitsBoth), ...(isAll ? [far] : [])];
}

async function runAll(databaseUrl: string): Promise<void> {
  const isAny: Choice = () => true;
  const isNoPage: Choice = (file) => !PAGES.test(file);
  const work = async (turns: Choice[]): Promise<void> => {
    for (const fits of turns)
      for (const pass of passes)
        while (pass.files.some(fits) && !cut.signal.aborted) await runWorker(pass, fits, databaseUrl);
  };
  const choices = Array.from({ length: WORKERS }, (_, index) => (index < PAGE_WORKERS ? [] : [isNoPage]));
  await Promise.all(choices.map((first) => work([...first, isAny])));
}

/** Runs a process that takes the files that fit until there are none, or until one of them hangs or ends it. */
async function runWorker(pass: Pass, fits: Choice, databaseUrl: string): Promise<void> {
  const { store, zone, files } = pass;
  const folders = folder.makeFolder();
  const worker = fork(`${import.meta.dirname}/kit/worker.ts`, {
    detached: true, // the leader of a group, which endGroup ends
    stdio: ['inherit', 'inherit', 'pipe', 'ipc'],
    execArgv: [`--test-reporter=${import.meta.dirname}/kit/report.ts`, '--test-reporter-destination=stdout'],
    env: {
      ...process.env,
      // Tests ignore a setting that developers have made for their own service.
      STOREROOM_DATABASE_URL: undefined,
      NODE_COMPILE_CACHE: resolve(ROOT, 'node_modules/.cache/storeroom-tests'),
      STOREROOM_TEST_STORE: store,
      STOREROOM_TEST_DATABASE_URL: databaseUrl,
      STOREROOM_TEST_FOLDERS: folders,
      ...(server && { STOREROOM_TEST_KEEP_DATABASES: 'on' }), // they are removed with the server
      ...(zone !== undefined ? { TZ: zone } : isAll && { STOREROOM_TEST_ALL: 'on' }),
    },
  });
  workers.add(worker);
  let lastSaid = '';
  worker.stderr!.setEncoding('utf8').on('data', (text: string) => process.stderr.write((lastSaid = text)));
  const ended = new Promise<string>((tell) => {
    worker.once('exit', (code, signal) => tell(`its process ended with ${signal ?? code}`));
  });
  const taken: string[] = [];
  let asked = 0;
  for (let file = files.find(fits); file !== undefined && !cut.signal.aborted; file = files.find(fits)) {
    files.splice(files.indexOf(file), 1);
    asked++;
    worker.send(file);
    let last = '';
    const reported = new Promise<FileReport>((tell) => {
      worker.removeAllListeners('message').on('message', (told: FileReport | TestBegun) => {
        if ('begun' in told) last = told.begun;
        else tell(told);
      });
    });
    const ms = LONGEST.test(file) ? LONGEST_FILE_MS : FILE_MS;
    const late = sleep(ms, undefined, { ref: false }).then(() => `it did not end in time; begun last: ${last}`);
    const outcome = await Promise.race([reported, ended, late]);
    addOutcome(`${file} ${describe(pass)}`, outcome);
    if (typeof outcome === 'string') break;
    taken.push(file);
  }
  if (taken.length === asked) {
    const fault = await Promise.race([endWorker(worker), ended, sleep(END_MS, STAYS_OPEN, { ref: false })]);
    if (fault === STAYS_OPEN) {
      lastSaid = '';
      worker.kill('SIGUSR2'); // it then says what is open
      await sleep(TELL_MS);
      bad.push(lastSaid.trim());
    }
    if (fault !== '' && !cut.signal.aborted) bad.push(`After ${taken.join(' ')}: ${fault}`);
  }
  // It is killed, because a process can wait for its own threads forever at the end of Node
  // (https://github.com/nodejs/node/issues/54918).
  endGroup(worker);
  workers.delete(worker);
  removals.push(rm(folders, { recursive: true, force: true, maxRetries: 3 }));
}

const describe = ({ store, zone }: Pass): string => `on ${store}${zone === undefined ? '' : ` in ${zone}`}`;

/** Asks a worker to end what its files shared. Returns '' once nothing that they opened is open, or a fault. */
async function endWorker(worker: ChildProcess): Promise<string> {
  const ended = new Promise<string>((tell) => {
    worker.removeAllListeners('message').on('message', (told: Partial<Ended>) => {
      if (told.ended !== undefined) tell(told.ended);
    });
  });
  worker.send(END, () => undefined); // if it has ended, its caller knows
  return ended;
}

function addOutcome(file: string, outcome: FileReport | string): void {
  if (typeof outcome === 'string') {
    if (!cut.signal.aborted) bad.push(`${file}: ${outcome}`);
    return;
  }
  process.stdout.write(outcome.text);
  for (const [name, count] of Object.entries(outcome.counts)) sums[name as keyof typeof sums] += count;
  if (outcome.isGood) return;
  bad.push(`${file}: a test failed, was skipped or todo, or there is none`);
  const failures = outcome.text.split(FAILURES)[1];
  if (failures) bad.push(failures.trim().slice(0, FAILURES_CHARACTERS_MAX));
}

/** Kills a worker and everything that it has started. */
function endGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-pid!, 'SIGKILL');
  } catch {
    // All processes of the group have ended.
  }
}

/** Waits until the servers of ended processes have removed themselves, and returns the names of what else is left. */
async function findLeft(): Promise<string[]> {
  for (let waitedMs = 0; waitedMs < END_MS; waitedMs += CLEAR_LOOK_MS) {
    if (!folder.left().some((name) => name.startsWith(SERVER_FOLDER))) break;
    await sleep(CLEAR_LOOK_MS);
  }
  return folder.left();
}

async function reach(databaseUrl: string): Promise<boolean> {
  const fault = await runStatement(databaseUrl, 'SELECT 1').then(
    () => undefined,
    (error: Error & { code?: string }) => error.message || error.code,
  );
  if (fault !== undefined)
    process.stderr.write(`STOREROOM_TEST_DATABASE_URL is set, and no PostgreSQL can be used there: ${fault}\n`);
  return fault === undefined;
}

/** Starts the server that all files share. Returns undefined, and the run fails, if it does not start. */
async function startServer(): Promise<PostgresServer | undefined> {
  return PostgresServer.start({
    parentFolder: folder.forPostgres,
    settings: folder.isInMemory ? {} : NO_CHECKPOINTS,
  }).catch((fault: Error) => {
    bad.push(fault.message);
    return undefined;
  });
}

const given = process.env['STOREROOM_TEST_DATABASE_URL'];
if (given && !(await reach(given))) process.exit(1);
const startedAt = performance.now();
const folder = openRunFolder();
let server: PostgresServer | undefined;
try {
  await unpackChromium();
  server = given ? undefined : await startServer();
  if (given || server) await runAll(given || server!.url);
} finally {
  await server?.remove();
  const left = await findLeft();
  if (left.length > 0 && !cut.signal.aborted) bad.push(`The tests left in their temporary folder: ${left.join(' ')}`);
  await Promise.allSettled(removals);
  try {
    folder.remove();
  } catch (fault) {
    bad.push(`The temporary folder could not be removed: ${(fault as Error).message}`);
  }
}

if (cut.signal.aborted) bad.push('The run was cut short.');
const seconds = Math.round((performance.now() - startedAt) / 1000);
const isGood = bad.length === 0 && sums.tests > 0;
const lines = isGood ? [`Good, ${passes.map(describe).join(', ')}, in ${seconds} s:`] : ['Not good:', ...bad];
if (named.length === 0 && !isAll && SLOW.length > 0) {
  const left = SLOW.map(({ files, store, reason }) => `  ${files.join(' ')}${store ? ` on ${store}` : ''}: ${reason}`);
  lines.unshift('Left to npm run test:all:', ...left, '');
}
lines.push(...Object.entries(sums).map(([name, count]) => `ℹ ${name} ${count}`));
process.stdout.write(`\n${lines.join('\n')}\n`);
process.exitCode = isGood ? 0 : 1;
