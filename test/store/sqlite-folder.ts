/** Opens the embedded store in folders that are removed at the end of the test process, or in separate processes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { openSqlite, type OpenStoreOptions, type SqliteStore } from '../../src/store/sqlite/store.ts';
import { TURNS } from '../kit/caller.ts';
import { whenOver } from '../kit/shared.ts';
import { passing } from '../kit/clock.ts';
import { temporaryFolder } from '../kit/service.ts';

const root = temporaryFolder();
const CLOCK = new URL('../../src/clock.ts', import.meta.url).href;
const STORE = new URL('../../src/store/sqlite/store.ts', import.meta.url).href;
const KIT = new URL('store-under-test.ts', import.meta.url).href;
let folders = 0;

export const folderOf = (place: string): string => join(root, place);
/** Returns the path of a folder that does not exist yet. */
export const newFolder = (): string => folderOf(`folder-${++folders}`);

/** Opens the store as the service does. A fault that would stop the service fails the test. */
export function openFolder(folder: string, options: Partial<OpenStoreOptions> = {}): SqliteStore {
  const onFatal = (fault: unknown): never => {
    throw fault;
  };
  return openSqlite({
    folder,
    busyTimeoutMs: 0,
    queryBudgetMs: 2000,
    ...TURNS,
    clock: passing,
    workers: 2,
    onFatal,
    ...options,
  });
}

/** Opens the store, and closes it after the test files. */
export function openForAll(folder: string, options: Partial<OpenStoreOptions> = {}): SqliteStore {
  const store = openFolder(folder, options);
  whenOver(() => store.close());
  return store;
}

/** Starts a process that opens the store in a folder and runs a script with `store`, and `pims` of a new tenant. */
export async function runProcess(folder: string, script: string): Promise<ChildProcess> {
  const source = `
    const { systemClock: clock } = await import(${JSON.stringify(CLOCK)});
    const { openSqlite } = await import(${JSON.stringify(STORE)});
    const { Pims } = await import(${JSON.stringify(KIT)});
    process.stdout.write('ready\\n');
    await new Promise((resolve) => process.stdin.once('data', resolve));
    const onFatal = (fault) => { throw fault; };
    const queries = { queryBudgetMs: 2000, queriesRunningMost: 8, queriesWaitingMost: 64 };
    const options = { busyTimeoutMs: 0, ...queries, workers: 1, onFatal, clock };
    const store = openSqlite({ folder: ${JSON.stringify(folder)}, ...options });
    const pims = async () => {
      await store.tenants.createTenant('team', 'A tenant', '2026-11-20T00:00:00.000Z');
      return new Pims(store.pims(await store.tenants.findTenant('team')));
    };
    ${script}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

/** Lets a process of `runProcess` run its script. */
export const begin = (child: ChildProcess): boolean => child.stdin!.end('begin\n') && true;

/** Waits until the process ends. Returns its exit code and everything that it printed. */
export async function ending(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
