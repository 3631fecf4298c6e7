/**
 * The embedded store: passes the contract of the ports.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { SqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { describeStore } from './contract.ts';

const root = mkdtempSync(join(tmpdir(), 'storeroom-store-'));
after(() => rmSync(root, { recursive: true }));

const openStore = (place: string): SqliteStore =>
  new SqliteStore({
    folder: join(root, place),
    busyTimeoutMs: 0,
    queryBudgetMs: 2000,
    workers: 2,
    onFatal: (fault) => {
      throw fault;
    },
  });

describeStore('SQLite', openStore);
