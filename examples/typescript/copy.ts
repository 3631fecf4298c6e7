/**
 * Keeps a copy of all orders with their lines, customers and parts in a SQLite file. You can kill and restart the
 * program at any time: it saves a page of changes and the position after it in one transaction, so it skips nothing.
 */
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Storeroom, StoreroomError } from '@storeroom/client';

const BASE = process.env['BASE'] ?? 'http://127.0.0.1:8080/tenant/api/pims/v1';
const KEYS = JSON.parse(readFileSync(process.env['KEYS_FILE'] ?? 'keys.json', 'utf8')) as {
  teamID: string;
  apiID: string;
  apiSecret: string;
};
/** A filter accepts 100 values, so one query can read all orders of a page. */
const PAGE_SIZE = 100;

// The program only reads, so the client repeats every call until it succeeds.
const storeroom = new Storeroom({ baseUrl: BASE, ...KEYS, tries: Infinity, totalTimeoutMs: Infinity });

const copy = new DatabaseSync(process.env['COPY'] ?? 'copy.db', { timeout: 5000 });
copy.exec(`
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS records (
    type TEXT, key TEXT, record TEXT NOT NULL, old INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (type, key)
  );
  CREATE TABLE IF NOT EXISTS position (seq TEXT NOT NULL, loaded INTEGER NOT NULL);
`);
const upsert = copy.prepare('INSERT OR REPLACE INTO records (type, key, record) VALUES (?, ?, ?)');
const save = (type: string, key: string, record: object): unknown => upsert.run(type, key, JSON.stringify(record));

for (;;)
  try {
    await load();
    await follow();
  } catch (error) {
    if (!(error instanceof StoreroomError)) throw error;
    console.error(error.message);
    // Other errors need a person, for example if the keys have ended.
    if (error.code !== 'CHANGES_GONE') process.exit(1);
    // The copy was stopped for too long, or Storeroom was restored from a backup: read everything again.
    copy.exec('DELETE FROM position');
  }

function readPosition(): { seq: string; loaded: number } | undefined {
  return copy.prepare('SELECT seq, loaded FROM position').get() as { seq: string; loaded: number } | undefined;
}

function inTransaction(work: () => void): void {
  copy.exec('BEGIN IMMEDIATE');
  try {
    work();
    copy.exec('COMMIT');
  } catch (error) {
    copy.exec('ROLLBACK');
    throw error;
  }
}

/** Reads everything once. The position is older than the first page, so `follow` reads the changes made meanwhile. */
async function load(): Promise<void> {
  const position = readPosition();
  if (position?.loaded) return;
  if (!position) copy.prepare('INSERT INTO position VALUES (?, 0)').run((await storeroom.listChanges()).next);
  copy.exec('UPDATE records SET old = 1');
  console.log(`Reading everything, from position ${readPosition()!.seq}`);
  for await (const { records } of storeroom.orders.query([], { include: 'lines' }).pages())
    inTransaction(() => records.forEach((order) => save('orders', order.ORDER_NUMBER, order)));
  for await (const { records } of storeroom.customers.query().pages())
    inTransaction(() => records.forEach((customer) => save('customers', customer.CUSTOMER_CODE, customer)));
  for await (const { records } of storeroom.inventory.query().pages())
    inTransaction(() => records.forEach((part) => save('inventory', part.PART_CODE, part)));
  // Storeroom deletes no records, but may have fewer after a restore from a backup.
  inTransaction(() => copy.exec('DELETE FROM records WHERE old; UPDATE position SET loaded = 1'));
  console.log('Everything was read');
}

/** Saves the current records of each page of changes. If a page is read twice, its records are the same or newer. */
async function follow(): Promise<void> {
  let { seq } = readPosition()!;
  for await (const page of storeroom.changes({ after: seq, include: 'records', pageSize: PAGE_SIZE }).pages()) {
    const orders = await readOrders(page.changes.flatMap(({ type, key }) => (type === 'orders' ? [key] : [])));
    inTransaction(() => {
      for (const { type, key, record } of page.changes) if (type !== 'orders' && record) save(type, key, record);
      for (const order of orders) save('orders', order.ORDER_NUMBER, order);
      const { changes } = copy.prepare('UPDATE position SET seq = ? WHERE seq = ?').run(page.next, seq);
      if (changes !== 1) throw new Error('Another program has moved the position: only one may keep a copy.');
    });
    seq = page.next;
    console.log(`${page.changes.length} changes, up to ${seq}`);
  }
}

/** Reads orders with their lines, which the records in changes lack. */
async function readOrders(keys: readonly string[]) {
  if (keys.length === 0) return [];
  const filter = { field: 'ORDER_NUMBER', op: 'in', value: [...new Set(keys)] } as const;
  return storeroom.orders.query([filter], { include: 'lines' }).toArray({ limit: PAGE_SIZE });
}
