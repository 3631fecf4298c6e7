/**
 * Carries everything from one store into another, row by row as it is, and then reads both sides back and compares them. Every batch is a transaction and
 * the last key in the target says how far it is, so that a move that was cut short goes on there. Knows no database. Source: decision 0021.
 */
import { createHash } from 'node:crypto';
import { Refusal } from '../../errors.ts';
import type { RecordType } from '../../pims/fields.ts';
import type { Tenant } from '../../tenant/port.ts';
import { keyOf, listTables, refuseUnfinished, type Table, type TableRow, type TableStore } from './tables.ts';

/** A store and how people are told of it. */
export interface MoveEnd {
  readonly store: TableStore;
  readonly name: string;
}

export interface MovedTable {
  /** null for what is beside the tenants. */
  readonly team: string | null;
  readonly table: string;
  readonly rows: number;
  readonly sha256: string;
}

/** Hears of the work there is, in rows that are written or compared, and of what was done. */
export interface MoveProgress {
  readonly start: (rows: number) => void;
  readonly advance: (rows: number) => void;
}

export interface MoveReport {
  readonly tenants: number;
  readonly tables: readonly MovedTable[];
}

const BATCH_ROWS_FIRST = 100;
const BATCH_ROWS_MAX = 2000;
/** Records may be long: a batch is as many of them as have had about this many characters. */
const BATCH_CHARACTERS = 2_000_000;

/** Moves everything, or goes on with a move that was cut short. Refuses, with nothing changed, a target that has tenants already. */
export async function moveStore(source: MoveEnd, target: MoveEnd, progress: MoveProgress): Promise<MoveReport> {
  if ((await source.store.unfinishedMove()) !== undefined) throw refuseUnfinished(source.name);
  await source.store.takeAlone();
  const tenants = await source.store.tenants.listTenants();
  if (tenants.length === 0) throw refuse(`There are no tenants in ${source.name}: nothing to move.`);
  await target.store.takeAlone();
  await begin(target, identify(tenants));

  for (const tenant of tenants) await makeTenant(tenant, source.store, target.store);
  const pairs = await pairTables(source.store, target.store);
  progress.start(await countWork(pairs, source.store, target.store));
  for (const [from, to] of pairs)
    if (from.way !== 'made') await copyTable(source.store, from, target.store, to, progress);
  const tables: MovedTable[] = [];
  for (const [from, to] of pairs) tables.push(await compareTable(source.store, from, target.store, to, progress));

  // Whoever came in after the beginning may have written what was copied and compared before.
  await source.store.takeAlone();
  await target.store.takeAlone();
  await target.store.finishMove();
  return { tenants: tenants.length, tables };
}

/** Names the source by what nobody else has: the random names of its tenants' inventory systems. A tenant more or less is another source. */
const identify = (tenants: readonly Tenant[]): string =>
  createHash('sha256').update(JSON.stringify(tenants.map(({ teamId, storeId }) => [teamId, storeId]))).digest('hex'); // prettier-ignore

async function begin({ store, name }: MoveEnd, source: string): Promise<void> {
  const begun = await store.unfinishedMove();
  if (begun === undefined) {
    if ((await store.tenants.listTenants()).length > 0)
      throw refuse(`There are tenants in ${name} already; a move goes into an empty store.`);
    await store.beginMove(source);
  } else if (begun !== source)
    throw refuse(
      `A move into ${name} from another store is unfinished, or tenants were made or removed in this one since it began. Finish that move, or empty ${name}.`,
    );
}

/** Makes the tenant with its settings and its own fields, as far as they are not there. */
async function makeTenant(tenant: Tenant, source: TableStore, target: TableStore): Promise<void> {
  const { teamId, name, createdAt } = tenant;
  const made =
    (await target.tenants.findTenant(teamId)) ?? (await target.tenants.createTenant(teamId, name, createdAt));
  if (made instanceof Refusal) throw made;
  await target.tenants.updateTenant(teamId, tenant, null);
  const [wanted, there] = [await source.pims(tenant).dictionaries(), await target.pims(made).dictionaries()];
  for (const recordType of Object.keys(wanted) as RecordType[])
    for (const { name: field, type, custom } of wanted[recordType].values()) {
      if (!custom || type === 'timestamp' || there[recordType].has(field)) continue;
      const refusal = await target.pims(made).addField({ recordType, name: field, type });
      if (refusal)
        throw refuse(`The field ${field} of the ${recordType} of ${teamId} cannot be made: ${refusal.message}`);
    }
}

async function pairTables(source: TableStore, target: TableStore): Promise<[Table, Table][]> {
  const nameOf = ({ tenant, name }: Table): string => `${tenant?.teamId ?? ''} ${name}`;
  const there = new Map((await Array.fromAsync(listTables(target))).map((table) => [nameOf(table), table]));
  return (await Array.fromAsync(listTables(source))).map((table) => [table, there.get(nameOf(table))!]);
}

async function countWork(pairs: readonly [Table, Table][], source: TableStore, target: TableStore): Promise<number> {
  let rows = 0;
  for (const [from, to] of pairs) {
    const all = await source.countRows(from);
    rows +=
      all + (from.way === 'made' ? 0 : from.way === 'whole' ? all : Math.max(0, all - (await target.countRows(to))));
  }
  return rows;
}

/** The next rows are read while the last ones are being written. */
async function copyTable(
  source: TableStore,
  from: Table,
  target: TableStore,
  to: Table,
  { advance }: MoveProgress,
): Promise<void> {
  if (from.columns.join() !== to.columns.join())
    throw refuse(`${describe(from)} has other fields in the target than in the source.`);
  let writing = Promise.resolve();
  const after = from.way === 'whole' ? undefined : await target.lastKey(to);
  for await (const rows of readAll(source, from, after)) {
    await writing;
    writing = target.insertRows(to, rows).then(() => advance(rows.length));
    writing.catch(() => undefined);
  }
  await writing;
}

/** All rows in the order of their keys, in batches of bounded size. */
async function* readAll(store: TableStore, table: Table, after?: TableRow): AsyncGenerator<TableRow[]> {
  let last = after;
  for (let limit = BATCH_ROWS_FIRST; ;) {
    const rows = await store.loadRows(table, last, limit);
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
  source: TableStore,
  from: Table,
  target: TableStore,
  to: Table,
  { advance }: MoveProgress,
): Promise<MovedTable> {
  const [wanted, found] = await Promise.all([sumUp(source, from, advance), sumUp(target, to)]);
  if (wanted.sha256 !== found.sha256)
    throw refuse(
      `${describe(from)} differs: ${wanted.rows} rows (SHA-256 ${wanted.sha256}) in the source, ${found.rows} rows (SHA-256 ${found.sha256}) in the target. ` +
        'Has anybody written to one of them since the move began? Nothing opens the target; empty it and move again.',
    );
  return { team: from.tenant?.teamId ?? null, table: from.name, ...wanted };
}

/** The number of rows, and the SHA-256 of the columns' names and of all rows in the order of their keys, a line of JSON each. */
async function sumUp(
  store: TableStore,
  table: Table,
  onRows: (rows: number) => void = () => undefined,
): Promise<{ rows: number; sha256: string }> {
  const sum = createHash('sha256').update(`${JSON.stringify(table.columns)}\n`);
  let count = 0;
  for await (const rows of readAll(store, table)) {
    sum.update(rows.map((row) => `${JSON.stringify(row.map(formatValue))}\n`).join(''));
    count += rows.length;
    onRows(rows.length);
  }
  return { rows: count, sha256: sum.digest('hex') };
}

const formatValue = (value: TableRow[number]): TableRow[number] =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
const describe = ({ tenant, name }: Table): string => (tenant ? `${name} of ${tenant.teamId}` : name);
const refuse = (message: string): Refusal => new Refusal('COMMAND_REFUSED', message);
