/** The PostgreSQL store on databases of the server that the run shares. */
import { PostgresStore } from '../../src/store/postgres/store.ts';
import { TURNS } from '../kit/caller.ts';
import { TestClock } from '../kit/clock.ts';
import { newDatabase } from '../kit/postgres.ts';

/** Stands still: nothing is refused because a busy machine took long. */
const clock = new TestClock();
const databases = new Map<string, Promise<string>>();

/** The URL of a database that belongs to this place in this process. */
export function urlOf(place: string): Promise<string> {
  const url = databases.get(place) ?? newDatabase();
  databases.set(place, url);
  return url;
}

export const openDatabase = async (place: string): Promise<PostgresStore> =>
  PostgresStore.open({
    ...TURNS,
    clock,
    url: await urlOf(place),
    connections: 2,
    queryBudgetMs: 2000,
    name: 'storeroom test',
  });
