/**
 * Begin here: copies one store into another, without sessions and deliveries, then compares both. An interrupted move
 * starts again. Source: decision 0021.
 */
import { createHash } from 'node:crypto';
import { orThrow, Refusal, refuseCommand } from '../../errors.ts';
import type { Dictionaries, RecordType } from '../../pims/rules/fields.ts';
import { addField } from '../../pims/writes/writes.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import {
  countRows,
  keyOf,
  listControlTables,
  listTables,
  loadRows,
  refuseUnfinished,
  type MoveStore,
  type Table,
  type TableRow,
} from './tables.ts';

/** A store and its name in messages. */
export interface MoveEnd {
  readonly store: MoveStore;
  readonly name: string;
}

/** One table in both stores. */
interface TablePair {
  readonly from: Table;
  readonly to: Table;
}

interface MovedTable {
  /** The team, or null for a control table. */
  readonly team: string | null;
  readonly table: string;
  readonly rows: number;
  readonly sha256: string;
}

/** Receives the number of rows to copy and compare, and then the progress. */
export interface MoveProgress {
  readonly start: (rows: number) => void;
  readonly advance: (rows: number) => void;
}

const BATCH_ROWS_FIRST = 100;
const BATCH_ROWS_MAX = 2000;
/** Approximate number of characters in a batch, so batches of long records have fewer rows. */
const BATCH_CHARACTERS = 2_000_000;

/** Moves a store. Throws COMMAND_REFUSED if the target already has tenants, unless they are from an unfinished move. */
export async function moveStore(
  { store: source, name: sourceName }: MoveEnd,
  target: MoveEnd,
  { start, advance }: MoveProgress,
): Promise<{ tenants: number; tables: MovedTable[] }> {
  const { store } = target;
  if (await source.isUnfinished()) throw refuseUnfinished(sourceName);
  await source.takeAlone();
  const tenants = await source.tenants.listTenants();
  if (tenants.length === 0) throw refuseCommand(`There are no tenants in ${sourceName}, so there is nothing to move.`);
  await store.takeAlone();
  await clearTarget(target);

  const copies = new Map<string, Tenant>();
  for (const tenant of tenants) copies.set(tenant.teamId, await copyTenant(tenant, source, store));
  const pairs = (await Array.fromAsync(listTables(source))).map((from): TablePair => ({
    from,
    to: { ...from, store, tenant: from.tenant && copies.get(from.tenant.teamId)! },
  }));
  start(await countWork(pairs));
  for (const pair of pairs) if (pair.from.copyMode !== 'create') await copyTable(pair, advance);
  const tables: MovedTable[] = [];
  for (const pair of pairs) tables.push(await compareTable(pair, advance));

  // A process that started during the move may have changed rows that were already compared.
  await source.takeAlone();
  await store.takeAlone();
  await store.finishMove();
  return { tenants: tenants.length, tables };
}

/** Marks the target as unfinished, and deletes what an interrupted move has left in it. */
async function clearTarget({ store, name }: MoveEnd): Promise<void> {
  const listTenants = () => store.tenants.listTenants();
  const refuseTenants = () => refuseCommand(`There are tenants in ${name} already. Move into an empty store.`);
  if (await store.isUnfinished()) {
    for (const tenant of await listTenants()) await store.tenants.deleteTenant(tenant);
    for (const table of listControlTables(store)) if (table.copyMode !== 'create') await store.clearTable(table);
    return;
  }
  if ((await listTenants()).length > 0) throw refuseTenants();
  await store.beginMove();
  // A command beside the move may have created a tenant before it saw the mark.
  if ((await listTenants()).length === 0) return;
  await store.finishMove();
  throw refuseTenants();
}

/** Creates the tenant with its settings and its custom fields, and returns it. */
async function copyTenant(tenant: Tenant, source: MoveStore, target: MoveStore): Promise<Tenant> {
  const { teamId, name, createdAt } = tenant;
  const copy = orThrow(await target.tenants.createTenant(teamId, name, createdAt));
  await target.tenants.updateTenant(teamId, tenant, null);
  const [wanted, pims] = [await source.pims(tenant).dictionaries(), target.pims(copy)];
  for (const recordType of Object.keys(wanted) as RecordType[])
    for (const { name: field, type, custom } of wanted[recordType].values()) {
      if (!custom || type === 'timestamp') continue;
      const refusal = await pims.write((dictionaries) => addField(dictionaries, { recordType, name: field, type }));
      if (refusal instanceof Refusal)
        throw refuseCommand(
          `The field ${field} of the ${recordType} of ${teamId} cannot be created: ${refusal.message}`,
        );
    }
  if (listFields(await pims.dictionaries()) !== listFields(wanted))
    throw refuseCommand(`The records of ${teamId} have different fields in the source and the target.`);
  return copy;
}

const listFields = (dictionaries: Dictionaries) =>
  Object.values(dictionaries)
    .flatMap((fields) => [...fields.keys(), ''])
    .join();

async function countWork(pairs: readonly TablePair[]): Promise<number> {
  let rows = 0;
  for (const { from } of pairs) rows += (await countRows(from)) * (from.copyMode === 'create' ? 1 : 2);
  return rows;
}

/** Loads rows while the previous ones are inserted. */
async function copyTable({ from, to }: TablePair, advance: MoveProgress['advance']): Promise<void> {
  let inserting = Promise.resolve();
  for await (const rows of loadAll(from)) {
    await inserting;
    inserting = to.store.insertRows(to, rows).then(() => advance(rows.length));
    inserting.catch(() => undefined);
  }
  await inserting;
}

/** Loads all rows in the order of their keys, in batches of bounded size. */
async function* loadAll(table: Table): AsyncGenerator<TableRow[]> {
  let last: TableRow | undefined;
  for (let limit = BATCH_ROWS_FIRST; ;) {
    const rows = await loadRows(table, last, limit);
    if (rows.length === 0) return;
    last = keyOf(table, rows.at(-1)!);
    yield rows;
    if (rows.length < limit) return;
    let characters = 1;
    for (const row of rows)
      for (const value of row) if (typeof value === 'string' || value instanceof Uint8Array) characters += value.length;
    limit = Math.max(1, Math.min(BATCH_ROWS_MAX, limit * 4, Math.floor((BATCH_CHARACTERS * rows.length) / characters)));
  }
}

async function compareTable({ from, to }: TablePair, advance: MoveProgress['advance']): Promise<MovedTable> {
  const [wanted, found] = await Promise.all([sumUp(from, advance), sumUp(to)]);
  const team = from.tenant?.teamId ?? null;
  if (wanted.sha256 !== found.sha256)
    throw refuseCommand(
      `${from.name}${team === null ? '' : ` of ${team}`} differs: ${wanted.rows} rows (SHA-256 ${wanted.sha256}) in ` +
        `the source, ${found.rows} rows (SHA-256 ${found.sha256}) in the target. Check whether a program wrote to ` +
        'one of them during the move. Then empty the target and move again.',
    );
  return { team, table: from.name, ...wanted };
}

/**
 * Counts the rows. Hashes the column names and all rows, each as a line of JSON, in the order of their keys, with
 * SHA-256.
 */
async function sumUp(
  table: Table,
  onRows: (rows: number) => void = () => undefined,
): Promise<{ rows: number; sha256: string }> {
  const sum = createHash('sha256').update(`${JSON.stringify(table.columns)}\n`);
  let count = 0;
  for await (const rows of loadAll(table)) {
    sum.update(rows.map((row) => `${JSON.stringify(row.map(formatValue))}\n`).join(''));
    count += rows.length;
    onRows(rows.length);
  }
  return { rows: count, sha256: sum.digest('hex') };
}

const formatValue = (value: TableRow[number]): TableRow[number] =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
