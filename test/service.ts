/**
 * A real service for a test: its own process on its own data folder, its tenants made through the command line, its answers checked against the
 * service's own contract as they come. Every answer that a test gets through `call` is checked; a test never turns that off.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Contract } from './contract.ts';

export const BASE_PATH = '/tenant/api/pims/v1';
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const START_MS = 20_000;

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
  /** Sent as JSON; a string is sent as it is. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
  json: () => any; // eslint-disable-line typescript/no-explicit-any -- tests look into it freely
}

/** An empty folder that goes away with the test process. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'storeroom-test-'));
  folders.push(folder);
  return folder;
}

const folders: string[] = [];
const children = new Set<ChildProcess>();
// A test that fails before its service is stopped leaves nothing behind.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Runs `storeroom …args` on a data folder and waits for its end. */
export async function runCommand(
  dataFolder: string,
  args: readonly string[],
  { env = {}, input = '' }: { env?: Record<string, string>; input?: string } = {},
): Promise<CommandResult> {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, STOREROOM_DATA: dataFolder, ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr, json: () => JSON.parse(stdout) };
}

export class Service {
  readonly dataFolder: string;
  readonly #env: Record<string, string>;
  #process: ChildProcess | undefined;
  #contract: Promise<Contract> | undefined;
  origin = '';
  /** Everything the process has printed. */
  output = '';

  private constructor(dataFolder: string, env: Record<string, string>) {
    this.dataFolder = dataFolder;
    this.#env = env;
  }

  /** Starts on a free port, without the demo tenant unless `env` asks for it, and waits until it is ready. */
  static async start({ dataFolder = temporaryFolder(), env = {} }: { dataFolder?: string; env?: Record<string, string> } = {}): Promise<Service> {
    const service = new Service(dataFolder, { STOREROOM_DEMO: 'off', ...env });
    await service.restart();
    return service;
  }

  /** Starts the process (again) on the same folder. */
  async restart(): Promise<void> {
    const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0'], { env: { ...process.env, STOREROOM_DATA: this.dataFolder, ...this.#env } });
    this.#process = child;
    children.add(child);
    child.once('exit', () => children.delete(child));
    let started = '';
    const ready = new Promise<void>((resolve, reject) => {
      const take = (text: string): void => {
        this.output += text;
        started += text;
        const origin = /Base URL\s+(http:\/\/[^/\s]+)/.exec(started)?.[1];
        if (origin === undefined || !started.includes('\n\n')) return;
        this.origin = origin;
        resolve();
      };
      child.stdout.setEncoding('utf8').on('data', take);
      child.stderr.setEncoding('utf8').on('data', take);
      child.once('exit', (code) => reject(new Error(`The service ended with ${code} before it was ready:\n${started}`)));
      setTimeout(() => reject(new Error(`The service was not ready in time:\n${started}`)), START_MS).unref();
    });
    await ready;
  }

  get pid(): number {
    return this.#process!.pid!;
  }

  get hasExited(): boolean {
    return this.#process!.exitCode !== null || this.#process!.signalCode !== null;
  }

  /** Stops with a signal and waits for the end; resolves to the exit code (null when the signal killed it). */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const child = this.#process!;
    if (this.hasExited) return child.exitCode;
    const ended = once(child, 'exit') as Promise<[number | null]>;
    child.kill(signal);
    return (await ended)[0];
  }

  command(...args: string[]): Promise<CommandResult> {
    return runCommand(this.dataFolder, args);
  }

  /** Makes a tenant and its keys; `settings` go to `tenant set`. */
  async makeTenant(teamID: string, ...settings: string[]): Promise<Keys> {
    await expectSuccess(this.command('tenant', 'create', teamID, '--name', `Tenant ${teamID}`));
    if (settings.length > 0) await expectSuccess(this.command('tenant', 'set', teamID, ...settings));
    return (await expectSuccess(this.command('keys', 'replace', teamID, '--json'))).json() as Keys;
  }

  /** The tenant's metered calls of this month, as the command line tells them. */
  async usageOf(teamID: string): Promise<number> {
    return ((await expectSuccess(this.command('usage', teamID, '--json'))).json() as { total: number }).total;
  }

  /** One call under the base path with Basic credentials and teamID of these keys; the answer is checked against the contract. */
  call(keys: Keys, method: string, path: string, { query, body, headers }: CallOptions = {}): Promise<Answer> {
    const authorization = `Basic ${Buffer.from(`${keys.apiID}:${keys.apiSecret}`).toString('base64')}`;
    const parameters = Array.isArray(query) ? query : Object.entries(query ?? {});
    return this.request(method, path, { query: [['teamID', keys.teamID], ...parameters], body, headers: { authorization, ...headers } });
  }

  /** One call under the base path with nothing added. */
  async request(method: string, path: string, { query, body, headers }: CallOptions = {}): Promise<Answer> {
    const search = new URLSearchParams(query).toString();
    const init: RequestInit = { method, headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers } };
    if (body !== undefined) init.body = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${this.origin}${BASE_PATH}${path}${search === '' ? '' : `?${search}`}`, init);
    const text = await response.text();
    const contract = await (this.#contract ??= Contract.load(this.origin));
    const answer = { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) };
    contract.check(method, BASE_PATH + path, answer);
    return answer;
  }
}

async function expectSuccess(running: Promise<CommandResult>): Promise<CommandResult> {
  const result = await running;
  if (result.code !== 0) throw new Error(`The command ended with ${result.code}: ${result.stderr}`);
  return result;
}
