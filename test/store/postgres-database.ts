/** Opens the PostgreSQL store on databases of the server that all tests of a run share. */
import type { ChildProcess } from 'node:child_process';
import type { Clock } from '../../src/clock.ts';
import { openPostgres, type PostgresStore } from '../../src/store/postgres/store.ts';
import { TURNS } from '../kit/caller.ts';
import { TestClock } from '../kit/clock.ts';
import { newDatabase } from '../kit/postgres.ts';
import { startProcess } from './processes.ts';

const standing = new TestClock();
const { now, elapsed, after } = standing;
/** A clock that only waits move, so that nothing is refused because a busy machine is slow. */
const clock: Clock = { now, elapsed, after, sleep: (ms) => Promise.resolve(standing.move(ms)) };
const databases = new Map<string, Promise<string>>();

/** Returns the URL of the database of a place. Within a process, a place always has the same database. */
export function urlOf(place: string): Promise<string> {
  const url = databases.get(place) ?? newDatabase();
  databases.set(place, url);
  return url;
}

/** Opens a database by its URL, also in another process. */
export const openUrl = (url: string, report?: (event: string, level?: 'info') => void): Promise<PostgresStore> =>
  openPostgres({ ...TURNS, clock, report, url, connections: 2, queryBudgetMs: 2000, name: 'storeroom test' });

export const openDatabase = async (
  place: string,
  report?: (event: string, level?: 'info') => void,
): Promise<PostgresStore> => openUrl(await urlOf(place), report);

/** Starts a process that opens the database of a place (see processes.ts). */
export const runProcess = async (place: string, script: string): Promise<ChildProcess> =>
  startProcess(`(await import('${import.meta.url}')).openUrl('${await urlOf(place)}')`, script);
