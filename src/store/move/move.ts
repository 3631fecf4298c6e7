/**
 * Copies everything from one store into another, then reads both back and compares them. An interrupted move goes on
 * after the last key in the target. Source: decision 0021.
 */
import { createHash, hash } from 'node:crypto';
import { orThrow, refuseCommand } from '../../errors.ts';
import type { RecordType } from '../../pims/rules/fields.ts';
import { addField } from '../../pims/writes/writes.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import { countRows, keyOf, listTables, loadLastKey, loadRows, refuseUnfinished } from './tables.ts';
import type { MoveStore, Table, TableRow } from './tables.ts';

/** A store and its name for people. */
export interface MoveEnd {
  readonly store: MoveStore;
  readonly name: string;
}

interface MovedTable {
  /** null for a control table. */
  readonly team: string | null;
  readonly table: string;
  readonly rows: number;
  readonly sha256: string;
}

/** Told of the work, in rows to copy and to compare, and of its progress. */
export interface MoveProgress {
  readonly start: (rows: number) => void;
  readonly advance: (rows: number) => void;
}

const BATCH_ROWS_FIRST = 100;
const BATCH_ROWS_MAX = 2000;
/** Long records make smaller batches: about this many characters each. */
const BATCH_CHARACTERS = 2_000_000;

/** Moves everything, or goes on with an interrupted move. COMMAND_REFUSED when the target has tenants. */
export async function moveStore(
  source: MoveEnd,
  target: MoveEnd,
  progress: MoveProgress,
): Promise<{ tenants: number; tables: MovedTable[] }> {
  if ((await source.store.unfinishedMove()) !== undefined) throw refuseUnfinished(source.name);
  await source.store.takeAlone();
  const tenants = await source.store.tenants.listTenants();
  if (tenants.length === 0) throw refuseCommand(`There are no tenants in ${source.name}: nothing to move.`);
  await target.store.takeAlone();
  await begin(target, identify(tenants));

  for (const tenant of tenants) await copyTenant(tenant, source.store, target.store);
  const pairs = await pairTables(source.store, target.store);
  progress.start(await countWork(pairs, source.store, target.store));
  for (const [from, to] of pairs)
    if (from.copyMode !== 'create') await copyTable(source.store, from, target.store, to, progress);
  const tables: MovedTable[] = [];
  for (const [from, to] of pairs) tables.push(await compareTable(source.store, from, target.store, to, progress));

  // A process that came after the beginning may have changed what was already compared.
  await source.store.takeAlone();
  await target.store.takeAlone();
  await target.store.finishMove();
  return { tenants: tenants.length, tables };
}

/** Identifies a source by its tenants and the random names of their inventory systems. */
const identify = (tenants: readonly Tenant[]): string =>
  hash('sha256', JSON.stringify(tenants.map(({ teamId, storeId }) => [teamId, storeId])), 'hex');

async function begin({ store, name }: MoveEnd, source: string): Promise<void> {
  const begun = await store.unfinishedMove();
  if (begun === undefined) {
    if ((await store.tenants.listTenants()).length > 0)
      throw refuseCommand(`There are tenants in ${name} already; a move goes into an empty store.`);
    await store.beginMove(source);
  } else if (begun !== source)
    throw refuseCommand(
      `A move into ${name} from another store is unfinished, or tenants were made or removed in this one since it ` +
        `began. Finish that move, or empty ${name}.`,
    );
}

/** Creates the tenant with its settings and custom fields, where they are missing. */
async function copyTenant(tenant: Tenant, source: MoveStore, target: MoveStore): Promise<void> {
  const { teamId, name, createdAt } = tenant;
  const copy =
    (await target.tenants.findTenant(teamId)) ?? orThrow(await target.tenants.createTenant(teamId, name, createdAt));
  await target.tenants.updateTenant(teamId, tenant, null);
  const [wanted, there] = [await source.pims(tenant).dictionaries(), await target.pims(copy).dictionaries()];
  for (const recordType of Object.keys(wanted) as RecordType[])
    for (const { name: field, type, custom } of wanted[recordType].values()) {
      if (!custom || type === 'timestamp' || there[recordType].has(field)) continue;
      const added = { recordType, name: field, type };
      const refusal = await target.pims(copy).write((dictionaries) => addField(dictionaries, added));
      if (refusal)
        throw refuseCommand(`The field ${field} of the ${recordType} of ${teamId} cannot be made: ${refusal.message}`);
    }
}

async function pairTables(source: MoveStore, target: MoveStore): Promise<[Table, Table][]> {
  const nameOf = ({ tenant, name }: Table): string => `${tenant?.teamId ?? ''} ${name}`;
  const there = new Map((await Array.fromAsync(listTables(target))).map((table) => [nameOf(table), table]));
  return (await Array.fromAsync(listTables(source))).map((table) => [table, there.get(nameOf(table))!]);
}

async function countWork(pairs: readonly [Table, Table][], source: MoveStore, target: MoveStore): Promise<number> {
  let rows = 0;
  for (const [from, to] of pairs) {
    const all = await countRows(source, from);
    const copied = { create: all, overwrite: 0, append: await countRows(target, to) }[from.copyMode];
    rows += all + Math.max(0, all - copied);
  }
  return rows;
}

/** Loads the next rows while the last ones are inserted. */
async function copyTable(
  source: MoveStore,
  from: Table,
  target: MoveStore,
  to: Table,
  { advance }: MoveProgress,
): Promise<void> {
  if (from.columns.join() !== to.columns.join())
    throw refuseCommand(`${describe(from)} has other fields in the target than in the source.`);
  let inserting = Promise.resolve();
  const after = from.copyMode === 'overwrite' ? undefined : await loadLastKey(target, to);
  for await (const rows of loadAll(source, from, after)) {
    await inserting;
    inserting = target.insertRows(to, rows).then(() => advance(rows.length));
    inserting.catch(() => undefined);
  }
  await inserting;
}

/** All rows in the order of their keys, in batches of bounded size. */
async function* loadAll(store: MoveStore, table: Table, after?: TableRow): AsyncGenerator<TableRow[]> {
  let last = after;
  for (let limit = BATCH_ROWS_FIRST; ;) {
    const rows = await loadRows(store, table, last, limit);
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

async function compareTable(
  source: MoveStore,
  from: Table,
  target: MoveStore,
  to: Table,
  { advance }: MoveProgress,
): Promise<MovedTable> {
  const [wanted, found] = await Promise.all([sumUp(source, from, advance), sumUp(target, to)]);
  if (wanted.sha256 !== found.sha256)
    throw refuseCommand(
      `${describe(from)} differs: ${wanted.rows} rows (SHA-256 ${wanted.sha256}) in the source, ` +
        `${found.rows} rows (SHA-256 ${found.sha256}) in the target. ` +
        'Has anybody written to one of them since the move began? Nothing opens the target; empty it and move again.',
    );
  return { team: from.tenant?.teamId ?? null, table: from.name, ...wanted };
}

/** The number of rows, and the SHA-256 of the column names and all rows by key, a line of JSON each. */
async function sumUp(
  store: MoveStore,
  table: Table,
  onRows: (rows: number) => void = () => undefined,
): Promise<{ rows: number; sha256: string }> {
  const sum = createHash('sha256').update(`${JSON.stringify(table.columns)}\n`);
  let count = 0;
  for await (const rows of loadAll(store, table)) {
    sum.update(rows.map((row) => `${JSON.stringify(row.map(formatValue))}\n`).join(''));
    count += rows.length;
    onRows(rows.length);
  }
  return { rows: count, sha256: sum.digest('hex') };
}

const formatValue = (value: TableRow[number]): TableRow[number] =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
const describe = ({ tenant, name }: Table): string => (tenant ? `${name} of ${tenant.teamId}` : name);
