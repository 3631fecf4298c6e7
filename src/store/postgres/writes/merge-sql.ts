/** Joins statements with the same SQL into one that has a list for each of their values. */
import type { Bound, Row, RowChange, Statement } from '../../sql/writing.ts';
import type { Connection } from '../connection/connection.ts';

type Ask = Pick<Statement, 'sql' | 'values'>;

/** Fewer statements are not joined, because unpacking a list costs more than binding a few values. */
const SAVED_TOGETHER_LEAST = 3;
/** Minimum number of rows for COPY. The server inserts one chunk of rows while the node builds the next. */
const COPIED_LEAST = 200;
const COPIED_MAX = 1000;

/** Sends statements that read, and returns the rows of each. */
export function loadTogether(connection: Connection, asks: readonly Ask[]): Promise<Row[]>[] {
  const answers = new Map<Ask, Promise<Row[]>>();
  for (const [sql, alike] of Map.groupBy(asks, (ask) => ask.sql)) {
    const [first] = alike as [Ask];
    if (alike.length === 1) {
      answers.set(first, connection.query(sql, first.values));
      continue;
    }
    const rows = connection
      .query(mergeLoads(sql, first.values), [[...alike.keys()], ...listsOf(alike)])
      .then((all) => Map.groupBy(all, ([at]) => at as number));
    for (const [at, ask] of alike.entries())
      answers.set(
        ask,
        rows.then((byPlace) => (byPlace.get(at) ?? []).map((row) => row.slice(1))),
      );
  }
  return asks.map((ask) => answers.get(ask)!);
}

/** Sends statements that write, with the same effect as one after the other. */
export function saveTogether(connection: Connection, statements: readonly Statement[]): void {
  let groups: Group[] = [];
  /** The last group that changes a row, and the place of the row in it. */
  let lastOf = new Map<string, { readonly group: Group; readonly at: number }>();
  const flushRows = (): void => {
    for (const group of groups) sendGroup(connection, group);
    [groups, lastOf] = [[], new Map()];
  };
  for (const statement of statements) {
    const { change } = statement;
    if (!change) {
      if (!statement.commutes) flushRows();
      connection.sendStatement(statement.sql, statement.values);
      continue;
    }
    const row = `${change.table} ${change.keysAt.map((at) => statement.values[at]).join(' ')}`;
    const last = lastOf.get(row);
    if (change.kind === 'update' && last?.group.alike[0]!.sql === statement.sql) {
      // Adjacent updates of one row: only the second matters.
      last.group.alike[last.at] = statement;
      continue;
    }
    let group = groups.findLast(({ alike }) => alike[0]!.sql === statement.sql);
    if (!group || (last && last.group.place >= group.place)) groups.push((group = { place: groups.length, alike: [] }));
    lastOf.set(row, { group, at: group.alike.push(statement) - 1 });
  }
  flushRows();
}

/** Statements with the same SQL, each for another row. */
interface Group {
  readonly place: number;
  readonly alike: Statement[];
}

function sendGroup(connection: Connection, { alike }: Group): void {
  const { sql, change } = alike[0]!;
  const { kind, table, names } = change!;
  if (alike.length < SAVED_TOGETHER_LEAST) for (const { values } of alike) connection.sendStatement(sql, values);
  else if (kind === 'insert' && alike.length >= COPIED_LEAST)
    for (let at = 0; at < alike.length; at += COPIED_MAX)
      connection.copy(
        table,
        names,
        alike.slice(at, at + COPIED_MAX).map(({ values }) => values),
      );
  else connection.sendStatement(mergeSaves(change!), listsOf(alike));
}

const listsOf = (alike: readonly Ask[]): (string | number | null)[][] =>
  alike[0]!.values.map((_, at) => alike.map(({ values }) => values[at] as string | number | null));

function mergeLoads(sql: string, values: readonly Bound[]): string {
  let count = 0;
  const load = sql.replaceAll(/\?(\d?)/g, (_, place: string) => `q.v${place || ++count}`);
  const lists = values.map((value, at) => `$${at + 2}::${typeof value === 'number' ? 'int' : 'text'}[]`);
  return `SELECT q.at, x.* FROM unnest(${['$1::int[]', ...lists].join(', ')})
    AS q(${['at', ...values.map((_, at) => `v${at + 1}`)].join(', ')}) CROSS JOIN LATERAL (${load}) x`;
}

function mergeSaves({ kind, table, names, keysAt }: RowChange): string {
  const lists = names.map((name, at) => `$${at + 1}::${TYPES[name] ?? 'text'}[]`).join(', ');
  const quoted = names.map((name) => `"${name}"`);
  if (kind === 'insert') return `INSERT INTO ${table} (${quoted.join(', ')}) SELECT * FROM unnest(${lists})`;
  const pairs = quoted.map((name, at) => `${name} = q.v${at + 1}`);
  const isKey = (_: string, at: number): boolean => keysAt.includes(at);
  return `UPDATE ${table} r SET ${pairs.filter((pair, at) => !isKey(pair, at)).join(', ')}
    FROM unnest(${lists}) AS q(${names.map((_, at) => `v${at + 1}`).join(', ')})
    WHERE ${pairs
      .filter(isKey)
      .map((pair) => `r.${pair}`)
      .join(' AND ')}`;
}

/** The types of columns that are not text. */
const TYPES: Readonly<Record<string, string>> = {
  folded: 'jsonb',
  LINE_NUMBER: 'int',
  NUMBER: 'bigint',
  SEQ: 'bigint',
  BEFORE: 'bigint',
};
