/** Opens the embedded store in folders that are removed at the end of the test process, or in other processes. */
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { openSqlite, type OpenStoreOptions, type SqliteStore } from '../../src/store/sqlite/store.ts';
import { TURNS } from '../kit/caller.ts';
import { whenOver } from '../kit/shared.ts';
import { passing } from '../kit/clock.ts';
import { temporaryFolder } from '../kit/service.ts';
import { startProcess } from './processes.ts';

const root = temporaryFolder();
const STORE = new URL('../../src/store/sqlite/store.ts', import.meta.url).href;
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

/** Starts a process that opens the store in a folder (see processes.ts). */
export const runProcess = (folder: string, script: string): Promise<ChildProcess> =>
  startProcess(
    `(await import(${JSON.stringify(STORE)})).openSqlite({
      folder: ${JSON.stringify(folder)}, busyTimeoutMs: 0, queryBudgetMs: 2000, queriesRunningMax: 8,
      queriesWaitingMax: 64, workers: 1, onFatal: (fault) => { throw fault; }, clock,
    })`,
    script,
  );
