/**
 * The PostgreSQL store passes the contract of the ports.
 */
import { PostgresStore } from '../../src/store/postgres/open-postgres.ts';
import { newDatabase } from '../postgres.ts';
import { describeStore } from './contract.ts';

const databases = new Map<string, Promise<string>>();
function urlOf(place: string): Promise<string> {
  const url = databases.get(place) ?? newDatabase();
  databases.set(place, url);
  return url;
}

describeStore('PostgreSQL', async (place) => PostgresStore.open({ url: await urlOf(place), connections: 2, queryBudgetMs: 2000, name: 'storeroom test' }));
