/**
 * A real service for a test: its own process, with its own data folder or database as STOREROOM_TEST_STORE says. The
 * command line makes tenants. Every answer is checked against the service's own contract; no test turns that off.
 */
import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { clockVariable, dateVariable, now, REAL_TIME } from './clock.ts';
import { runInRunner, runProcess } from './commands.ts';
import { Contract } from './contract.ts';
import { newDatabase } from './postgres.ts';
import { isFromSources, PROGRAM, SHIPPED, type Words } from './program.ts';
import { share } from './shared.ts';
import { untilTold } from './wait.ts';

export const BASE_PATH = '/tenant/api/pims/v1';
/** A path at which no one can make a folder. */
const NOWHERE = '/dev/null/data';
/** The variable that main.ts sets. */
const MALLOC = { MALLOC_MMAP_THRESHOLD_: '262144' };

/** The store that services are started with: `sqlite` or `postgres`. */
export const STORE = process.env['STOREROOM_TEST_STORE'] || 'sqlite';

export interface Keys {
  teamID: string;
  apiID: string;
  apiSecret: string;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body. */
  body: any; // eslint-disable-line typescript/no-explicit-any -- tests look into it freely
}

export interface CallOptions {
  query?: Record<string, string> | string[][] | undefined;
  /** Sent as JSON; a string is sent unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
  json: () => any; // eslint-disable-line typescript/no-explicit-any -- tests look into it freely
}

/** Makes an empty folder, which is removed after the test process, by run.ts or at the end of the process itself. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(FOLDERS ?? tmpdir(), 'storeroom-test-'));
  folders.push(folder);
  return folder;
}

/** Folder for temporary folders, which run.ts removes. Removing hundreds of them blocks a process that ends. */
const FOLDERS = process.env['STOREROOM_TEST_FOLDERS'];
const folders: string[] = [];
const children = new Set<ChildProcess>();
// A test that fails before its service is stopped leaves nothing behind.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  if (FOLDERS === undefined) for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const isDatabase = (place: string): boolean => /^postgres(ql)?:/.test(place);

/** Makes an empty data folder or database, as STOREROOM_TEST_STORE says. Returns its path or URL. */
export function newPlace(): Promise<string> {
  if (STORE !== 'sqlite' && STORE !== 'postgres')
    throw new Error(`STOREROOM_TEST_STORE must be sqlite or postgres, not '${STORE}'.`);
  return STORE === 'postgres' ? newDatabase() : Promise.resolve(temporaryFolder());
}

/** Returns the variables that choose the store at a place: always both, so that none is inherited. */
export function placeVariables(place: string): { STOREROOM_DATA: string; STOREROOM_DATABASE_URL: string } {
  return isDatabase(place)
    ? { STOREROOM_DATA: NOWHERE, STOREROOM_DATABASE_URL: place }
    : { STOREROOM_DATA: place, STOREROOM_DATABASE_URL: '' };
}

interface CommandOptions {
  readonly env?: Record<string, string>;
  /** A program that starts the process, such as one that changes the user. */
  readonly under?: readonly string[];
  /** The words that start another version of the program. */
  readonly program?: Words;
}

/**
 * Runs `storeroom …args` at a place, in the process that commands share. `serve`, a program `under` and another version
 * have a separate process.
 */
export async function runCommand(
  place: string,
  args: readonly string[],
  { env: more = {}, under = [], program = PROGRAM }: CommandOptions = {},
): Promise<CommandResult> {
  const env = { ...process.env, ...placeVariables(place), ...more };
  const isAlone = args[0] === 'serve' || under.length > 0 || program !== PROGRAM;
  const { exitCode, out, err } = await (isAlone
    ? runProcess({ words: args, env }, { under, program })
    : runInRunner({ words: args, env }));
  return { code: exitCode, stdout: out, stderr: err, json: () => JSON.parse(out) };
}

export interface ServiceOptions {
  /** Data folder or URL of a database, also under the next two names. Services with the same database are nodes. */
  place?: string;
  dataFolder?: string;
  databaseUrl?: string;
  env?: Record<string, string>;
  /** Whether it keeps its port after a restart, as a balancer expects. */
  keepsPort?: boolean;
  /** A program that starts the process, such as one that puts it into a control group first. */
  under?: readonly string[];
  /** The words that start another version of the program, from sources. */
  program?: Words;
  /** Whether main.ts starts it, as outside tests: on real time, with a clock that nothing can move. */
  asShipped?: boolean;
  /** Whether its date changes only by `move`, ahead or back. Its waits pass in real time and are not moved. */
  dateStands?: boolean;
}

export class Service {
  /** Its data folder, or the URL of its database. */
  readonly place: string;
  readonly #env: Record<string, string>;
  readonly #keepsPort: boolean;
  readonly #under: readonly string[];
  readonly #program: Words;
  readonly #isClocked: boolean;
  readonly #asShipped: boolean;
  readonly #date: number | undefined;
  #movedMs = 0;
  /** The time at which its clock stands still; undefined while it passes. */
  #standsAt: number | undefined;
  #process: ChildProcess | undefined;
  #contract: Promise<Contract> | undefined;
  origin = '';
  /** Everything the process has printed. */
  output = '';
  readonly #printed = new EventEmitter();

  private constructor(
    place: string,
    { env = {}, keepsPort = false, under = [], program, asShipped = false, ...more }: ServiceOptions,
  ) {
    this.place = place;
    this.#env = { STOREROOM_DEMO: 'off', ...env };
    this.#keepsPort = keepsPort;
    this.#under = under;
    this.#asShipped = asShipped || under.length > 0;
    this.#isClocked = program !== undefined || (isFromSources && !this.#asShipped);
    this.#program = program ?? (this.#isClocked ? PROGRAM : SHIPPED);
    this.#date = more.dateStands === true ? now() : undefined;
  }

  /**
   * Starts a service and waits until it is ready. Without a place, its store is empty. It has no demo tenant unless
   * `env` has STOREROOM_DEMO.
   */
  static async start(options: ServiceOptions = {}): Promise<Service> {
    const place = options.place ?? options.databaseUrl ?? options.dataFolder ?? (await newPlace());
    const service = new Service(place, options);
    await service.restart();
    return service;
  }

  /** Starts `count` services on the same store at the same moment. If one does not start, stops the others. */
  static async startAll(count: number, options: ServiceOptions): Promise<Service[]> {
    const starts = await Promise.allSettled(Array.from({ length: count }, () => Service.start(options)));
    const services = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
    const failed = starts.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    if (!failed) return services;
    await Promise.all(services.map((service) => service.stop('SIGKILL')));
    throw failed.reason;
  }

  /** Starts the process (again) on the same store, and waits until it is ready. Throws if it ends before. */
  async restart(): Promise<void> {
    const port = this.#keepsPort && this.origin !== '' ? new URL(this.origin).port : '0';
    const words = [...this.#under, ...this.#program, 'serve', '--port', port];
    const own = this.#isClocked ? { ...MALLOC, ...this.#time() } : {};
    const child = spawn(words[0]!, words.slice(1), {
      env: { ...process.env, ...own, ...placeVariables(this.place), ...this.#env },
      stdio: ['pipe', 'pipe', 'pipe', ...(this.#isClocked ? (['ipc'] as const) : [])],
    }) as ChildProcessWithoutNullStreams;
    this.#process = child;
    children.add(child);
    child.once('exit', () => children.delete(child));
    let started = '';
    const ready = new Promise<void>((resolve, reject) => {
      const take = (text: string): void => {
        this.output += text;
        this.#printed.emit('more');
        started += text;
        const origin = /Base URL\s+(http:\/\/[^/\s]+)/.exec(started)?.[1];
        if (origin === undefined || !started.includes('\n\n')) return;
        this.origin = origin;
        resolve();
      };
      child.stdout.setEncoding('utf8').on('data', take);
      child.stderr.setEncoding('utf8').on('data', take);
      child.once('error', reject);
      child.once('exit', (code) =>
        reject(new Error(`The service ended with ${code} before it was ready:\n${started}`)),
      );
    });
    await ready.catch((fault: unknown) => {
      child.kill('SIGKILL');
      throw fault;
    });
  }

  /** The URL of its database; undefined with the embedded store. */
  get databaseUrl(): string | undefined {
    return isDatabase(this.place) ? this.place : undefined;
  }

  /** The data folder of a service with the embedded store. */
  get dataFolder(): string {
    if (isDatabase(this.place)) throw new Error('This service has a database and no data folder.');
    return this.place;
  }

  /** Waits until `isSo` accepts everything that the service has printed, including before restarts. */
  async said(isSo: (output: string) => boolean): Promise<void> {
    await untilTold(this.#printed, 'more', () => isSo(this.output), isSo);
  }

  get pid(): number {
    return this.#process!.pid!;
  }

  get hasExited(): boolean {
    return this.#process!.exitCode !== null || this.#process!.signalCode !== null;
  }

  /** Sends a signal and waits for the end. Resolves to the exit code, or to null if the signal killed the process. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const child = this.#process!;
    if (this.hasExited) return child.exitCode;
    // By then all that it has printed is in `output`. Programs that start it may leave others with the same output.
    const ended = once(child, this.#under.length > 0 ? 'exit' : 'close') as Promise<[number | null]>;
    if (this.#standsAt !== undefined) await this.pass(); // stopping waits for timers
    child.kill(signal);
    return (await ended)[0];
  }

  /** Runs a command on the service's store and time. */
  command(...args: string[]): Promise<CommandResult> {
    return this.commandWith({}, ...args);
  }

  /** Runs a command on the service's store and time, with settings. */
  commandWith(env: Record<string, string>, ...args: string[]): Promise<CommandResult> {
    return runCommand(this.place, args, { env: { ...this.#time(), ...env } });
  }

  /** Returns its time in milliseconds since 1970. */
  now(): number {
    return this.#standsAt ?? now(this.#time());
  }

  /** Returns its time, `ms` milliseconds later, as ISO 8601 in UTC. */
  timeAt(ms = 0): string {
    return new Date(this.now() + ms).toISOString();
  }

  /** Moves its clock by `ms` at once, even while it is stopped. Work that is due by then has begun on return. */
  async move(ms: number): Promise<void> {
    await this.#tellClock('move', ms);
  }

  /** Moves its clock as if it had been too busy to do anything: work that was due in between begins late. */
  async hold(ms: number): Promise<void> {
    await this.#tellClock('hold', ms);
  }

  /** Stops its clock: from now on, only moves change it. Work that waits for a timer then waits for a move. */
  async stand(): Promise<void> {
    [this.#standsAt] = await this.#tellClock('stand');
  }

  /** Lets its time pass again. */
  async pass(): Promise<void> {
    // The answer may arrive late, so the difference is taken from the real time that it contains.
    const [at, real] = await this.#tellClock('pass');
    [this.#movedMs, this.#standsAt] = [at - now({}, real), undefined];
  }

  /** Sends its clock a command. Returns its time, and the real time of that moment if it runs. */
  async #tellClock(what: string, ms = 0): Promise<[at: number, real: number | undefined]> {
    const child = this.#process!;
    let at = (this.#standsAt ?? this.now()) + ms;
    let real: number | undefined;
    if (!this.hasExited) {
      const told = once(child, 'message') as Promise<[[number, number]]>;
      child.send([what, ms]);
      [[at, real]] = await told;
    }
    if (this.#standsAt === undefined) this.#movedMs += ms;
    else this.#standsAt = at;
    return [at, real];
  }

  /** Returns the variable for a process on the service's time. */
  #time(): Record<string, string> {
    if (this.#asShipped) return REAL_TIME;
    if (this.#date !== undefined) return dateVariable(this.#date + this.#movedMs);
    return clockVariable(this.#standsAt === undefined ? this.#movedMs : this.#standsAt - now());
  }

  /** Makes a tenant and its keys. `settings` are arguments of `tenant set`. */
  async makeTenant(teamID: string, ...settings: string[]): Promise<Keys> {
    await expectSuccess(this.command('tenant', 'create', teamID, '--name', `Tenant ${teamID}`));
    if (settings.length > 0) await expectSuccess(this.command('tenant', 'set', teamID, ...settings));
    return (await expectSuccess(this.command('keys', 'replace', teamID, '--json'))).json() as Keys;
  }

  /** Restarts the service if it has ended, and removes all tenants. */
  async empty(): Promise<void> {
    if (this.hasExited) await this.restart();
    const { tenants } = (await expectSuccess(this.command('tenant', 'list', '--json'))).json() as {
      tenants: { teamID: string }[];
    };
    for (const { teamID } of tenants) await expectSuccess(this.command('tenant', 'remove', teamID, '--yes'));
  }

  /** Returns the tenant's metered calls of this month, as `storeroom usage` reports them. */
  async usageOf(teamID: string): Promise<number> {
    return ((await expectSuccess(this.command('usage', teamID, '--json'))).json() as { total: number }).total;
  }

  /** Makes a call under the base path with Basic credentials and the teamID of these keys. */
  call(keys: Keys, method: string, path: string, { query, body, headers }: CallOptions = {}): Promise<Answer> {
    const authorization = `Basic ${Buffer.from(`${keys.apiID}:${keys.apiSecret}`).toString('base64')}`;
    const parameters = Array.isArray(query) ? query : Object.entries(query ?? {});
    return this.request(method, path, {
      query: [['teamID', keys.teamID], ...parameters],
      body,
      headers: { authorization, ...headers },
    });
  }

  /** Makes a call under the base path with nothing added. */
  async request(method: string, path: string, { query, body, headers }: CallOptions = {}): Promise<Answer> {
    const search = new URLSearchParams(query).toString();
    const init: RequestInit = {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    };
    if (body !== undefined) init.body = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${this.origin}${BASE_PATH}${path}${search === '' ? '' : `?${search}`}`, init);
    const text = await response.text();
    this.#contract ??= Contract.load(this.origin);
    const contract = await this.#contract.catch((fault: unknown) => {
      this.#contract = undefined; // the next call loads it again
      throw fault;
    });
    const answer = {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? undefined : JSON.parse(text),
    };
    contract.check(method, BASE_PATH + path, answer, search.includes('fields='));
    return answer;
  }
}

const shared = new Map<string, () => Promise<Service>>();

/** Returns the service that the test files of a process share, one for each environment. It has no tenants at first. */
export async function sharedService(env: Record<string, string> = {}): Promise<Service> {
  const key = JSON.stringify(env);
  let open = shared.get(key);
  if (open === undefined) {
    open = share(
      () => Service.start({ env }),
      (service) => service.stop(),
    );
    shared.set(key, open);
  }
  const service = await open();
  await service.empty();
  return service;
}

/** Starts a service for this test file alone, which ends with the file. */
export function ownService(options: ServiceOptions = {}): Promise<Service> {
  const starting = Service.start(options);
  after(async () => (await starting).stop());
  return starting;
}

async function expectSuccess(running: Promise<CommandResult>): Promise<CommandResult> {
  const result = await running;
  if (result.code !== 0) throw new Error(`The command ended with ${result.code}: ${result.stderr}`);
  return result;
}
