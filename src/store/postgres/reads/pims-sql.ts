/**
 * The SQL of one tenant's inventory system on PostgreSQL: the dialect of the shared SQL, and all reads. Begin here.
 * PostgreSQL builds the JSON of the responses. Column names come only from the dictionaries, and values are always
 * bound.
 */
import type { Values } from '../../../pims/rules/values.ts';
import {
  ofKeyedTypes,
  pickFields,
  RECORD_TYPES,
  type Dictionaries,
  type Field,
  type FieldDictionary,
  type KeyedType,
  type RecordType,
} from '../../../pims/rules/fields.ts';
import type { QueryRequest } from '../../../pims/pims-port.ts';
import { foldCase, parseFilters, parseSort } from '../../../pims/reads/query.ts';
import { VIEWED_FIELDS } from '../../../pims/reads/storefront.ts';
import { buildChanges } from '../../pims/look-sql.ts';
import { BY_NUMBER } from '../../pims/lines-of.ts';
import {
  buildColumn,
  CANCELLED,
  columnsOf,
  searchText,
  tagColumn,
  toDictionaries,
  type Column,
  type FieldRow,
  type ScriptDialect,
} from '../../pims/row-sql.ts';
import { buildScriptSql } from '../../pims/script-sql.ts';
import type { Dialect } from '../../pims/where.ts';
import { statement } from '../../sql/writing.ts';
import type { Connection } from '../connection/connection.ts';
import type { SharedConnection } from '../connection/shared-connection.ts';
import { buildLookup, buildPage, isFoundFirst, joinLines, linesOf, wrapLine, type PageQuery } from './page-sql.ts';
import { buildSortedPage } from './sorted-page-sql.ts';

/** Number of characters of a value in an index. No filter has more. */
export const INDEXED_CHARACTERS = 256;
const TRIGRAM = 3;

/** Maximum lines, and bytes of them, of an order that is read together with others. */
const SMALL = { lines: 100, bytes: 64 * 1024 };
/** Maximum number of orders of a storefront number that is read together with others. */
export const SMALL_ORDERS = 10;
/** Replaces lines that are too many or too large. */
export const LARGE = '';
/** Ends each cell of an exported record, since texts of PostgreSQL cannot contain NUL. */
const CELL_END = { sql: 'chr(1)', text: '\x01', byte: 1 };

/** The type of a column that holds a field, also in the released scripts of the schema. */
export const FIELD_TYPE = `TEXT COLLATE "C" NOT NULL DEFAULT ''`;

const filterDialect = (table: (name: string) => string): Dialect => ({
  equals: (column, isIndexed, bind) =>
    isIndexed
      ? // The planner would multiply both estimates. With `coalesce`, it assumes half of the rows for the second.
        `left(${column}, ${INDEXED_CHARACTERS}) = left(${bind()}, ${INDEXED_CHARACTERS}) AND coalesce(${column} = ${bind()}, FALSE)`
      : `${column} = ${bind()}`,
  isOneOf: (column, isIndexed, bind) => {
    const buildAnyOf = (value: string): string =>
      `ANY (ARRAY(SELECT ${value} FROM json_array_elements_text(${bind()}::json) value))`;
    const whole = `${column} = ${buildAnyOf('value')}`;
    if (!isIndexed) return whole;
    return `left(${column}, ${INDEXED_CHARACTERS}) = ${buildAnyOf(`left(value, ${INDEXED_CHARACTERS})`)} AND ${whole}`;
  },
  // The array is found first, because the planner cannot estimate how many lines have a number.
  isIn: (column, select) => `${column} = ANY (ARRAY(${select}))`,
  ofOrders(orderNumbers, bind) {
    return [undefined, this.isOneOf('"ORDER_NUMBER"', false, () => bind(JSON.stringify(orderNumbers)))];
  },
  lineSerials: table('LINE_SERIALS'),
  lineNumber: '("LINE_NUMBER"::text COLLATE "C")',
  ranges: (placeholder) =>
    `(SELECT value ->> 0 AS low, value ->> 1 AS high FROM json_array_elements(${placeholder}::json) value) ranges`,
  compares: (column, sign, placeholder) => `(nullif(${column}, '')::numeric ${sign} ${placeholder}::numeric) IS TRUE`,
  indexed: (text) => `left(${text}, ${INDEXED_CHARACTERS})`,
  findsDates: 'by text',
  // PostgreSQL folds ASCII text as we do. For all other text, the row has the folded form.
  contains: (column, placeholder) =>
    `strpos(coalesce(folded ->> '${column.slice(1, -1)}', upper(${column})), ${placeholder}) > 0`,
  search: (_table, placeholder) => `search LIKE ${placeholder}`,
  searchNeedle: (needle) =>
    Array.from(needle).length < TRIGRAM ? undefined : `%${lowerEach(needle).replace(/[\\%_]/g, '\\$&')}%`,
});

export type PostgresPimsSql = ReturnType<typeof buildPimsSql>;

/** Builds a value on first use, because most tenants need few of the values. */
function lazy<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** Rows with a higher `version` than the dictionaries lack a field that a node has added. */
export function buildPimsSql(schema: string, dictionaries: Dictionaries, version: number) {
  const table = (name: string): string => `"${schema}"."${name}"`;
  const tableOf = (recordType: RecordType): string => table(RECORD_TYPES[recordType].table);
  const json = (recordType: RecordType, names?: readonly string[], ...more: Column[]): string => {
    const dictionary = dictionaries[recordType];
    return recordJson([...columnsOf((names ? pickFields(dictionary, recordType, names) : dictionary).keys()), ...more]);
  };
  const lazyJson = (recordType: RecordType) => lazy(() => json(recordType));
  const pageJson = { ...ofKeyedTypes(lazyJson), lines: lazyJson('lines') };
  const filters = filterDialect(table);
  // The version of the dictionaries, which is read with everything that depends on them, to detect a change.
  const fieldsVersion = `SELECT "NEXT" FROM ${table('COUNTERS')} WHERE "NAME" = 'fields'`;
  const all = `string_agg(j, ',' ORDER BY n)`;
  const viewed = (recordType: 'orders' | 'lines', ...more: Column[]): string =>
    json(recordType, VIEWED_FIELDS[recordType], ...more);
  const smallLines = (line: string): string =>
    `(SELECT CASE WHEN count(*) <= ${SMALL.lines} AND octet_length(${all}) <= ${SMALL.bytes}
        THEN '[' || ${all} || ']' WHEN count(*) > 0 THEN '${LARGE}' END
      FROM (${linesOf({ table }, line)} ORDER BY n LIMIT ${SMALL.lines + 1}) l)`;
  const byReference = (key: string): string => `left(o."REFERENCE_NUMBER", ${INDEXED_CHARACTERS}) =
    left(${key}, ${INDEXED_CHARACTERS}) AND o."REFERENCE_NUMBER" = ${key}`;
  const byKeys = (recordType: KeyedType, more = 'NULL'): string =>
    `SELECT o."SORT_KEY", ${json(recordType)}, ${more}, (${fieldsVersion}), ${tagColumn(dictionaries, recordType)}
      FROM unnest(?::text[]) AS q(key) JOIN ${tableOf(recordType)} o ON o."SORT_KEY" = q.key`;
  const orderParts = { table, json, fieldsVersion, tag: tagColumn(dictionaries, 'orders') };
  const rows = (recordType: RecordType, names: readonly string[]): string => {
    const columns = names.map((name) => buildColumn(name, 'r.'));
    const { sql: end } = CELL_END;
    const record = `SELECT CASE WHEN strpos(${joinTexts(columns)}, ${end}) > 0
      THEN to_json(ARRAY[${columns.join(', ')}])::text
      ELSE ${joinTexts(columns.flatMap((column) => [column, end]))} END`;
    return `${record} FROM ${tableOf(recordType)} r ORDER BY r."SORT_KEY"`;
  };
  return {
    version,
    dictionaries,
    script: lazy(() => buildScriptSql(dictionaries, scriptDialect(table))),
    fieldsVersion,
    customFields: `SELECT "RECORD_TYPE", "NAME", "TYPE" FROM ${table('CUSTOM_FIELDS')} ORDER BY "RECORD_TYPE", "ID"`,
    /** Reads the next number of each counter. */
    counters: `SELECT "NAME", "NEXT" FROM ${table('COUNTERS')} WHERE "NAME" IN ('orders', 'customers')`,
    changes: buildChanges(table('CHANGES')),
    /** Locks the tenant for a transaction that writes. */
    lock: `${fieldsVersion} FOR UPDATE`,
    ordersWithLines: lazy(() => byKeys('orders', smallLines(wrapLine(pageJson.lines())))),
    records: ofKeyedTypes((recordType) => lazy(() => byKeys(recordType))),
    /** Reads at most SMALL_ORDERS + 1 orders of each storefront number. */
    ordersByReference: lazy(
      () => `SELECT q.key, ${viewed('orders', CANCELLED)}, ${smallLines(viewed('lines'))}, (${fieldsVersion})
      FROM unnest(?::text[]) AS q(key) CROSS JOIN LATERAL
        (SELECT * FROM ${table('ORDERS')} o WHERE ${byReference('q.key')} LIMIT ${SMALL_ORDERS + 1}) o`,
    ),
    /** Reads the orders of a list of storefront numbers. */
    lookup: lazy(() => buildLookup(orderParts, byReference)),
    /** Reads these fields of every record of a type in the order of its key. See joinCells. */
    rows,
    measure: (recordType: RecordType): string => `ANALYZE ${tableOf(recordType)}`,
    buildPageSql(recordType: RecordType, request: QueryRequest): PageQuery {
      const sort = parseSort(dictionaries[recordType], recordType, request.sort);
      const tree = parseFilters(dictionaries[recordType], recordType, request.filters);
      const { fields, hasLines } = request;
      const record = fields ? json(recordType, fields) : pageJson[recordType]();
      const withLines = hasLines ? joinLines(orderParts) : undefined;
      const modified = table(`${RECORD_TYPES[recordType].table}_MODIFIED`);
      const parts = { table: tableOf(recordType), modified, json: record, withLines, fieldsVersion, version };
      if (!sort && !isFoundFirst(recordType, tree)) return buildPage(recordType, tree, request, filters, parts);
      const { after, limit, isCounted = false } = request;
      return buildSortedPage({ recordType, tree, sort, after, limit, isCounted }, filters, parts);
    },
  };
}

/** The version of a tenant without custom fields, and its dictionaries. */
const FIELDS_VERSION_FIRST = 1;
const BUILT_IN = toDictionaries([]);

export type SqlFollower = ReturnType<typeof makeSqlFollower>;

/** Keeps the newest SQL. A read compares the version in its rows with the SQL that it was sent with. */
export function makeSqlFollower(schema: string, reader: SharedConnection) {
  let newest = buildPimsSql(schema, BUILT_IN, FIELDS_VERSION_FIRST);
  /** Builds newer SQL if a node has added a field since the newest was built. */
  const follow = async (version: number, connection?: Connection) => {
    if (version <= newest.version) return;
    const { customFields } = newest;
    const fields = await (connection
      ? connection.query<FieldRow>(customFields)
      : reader.askRows<FieldRow>(customFields, []));
    // Another call may have followed a newer version in the meantime.
    if (version > newest.version) newest = buildPimsSql(schema, toDictionaries(fields), version);
  };
  return {
    sql: () => newest,
    follow,
    /** Returns whether rows of this version were read with older SQL. By then, the newest SQL is not older. */
    isOutdated: async (sql: { readonly version: number }, version: number) => {
      if (version <= sql.version) return false;
      await follow(version);
      return true;
    },
  };
}

/** Joins exported records, with a NUL after each cell. A record with CELL_END in a value arrives as a JSON list. */
export function joinCells(records: readonly string[]): Uint8Array {
  const isPlain = (record: string): boolean => record.endsWith(CELL_END.text);
  if (!records.every(isPlain)) {
    const listCells = (record: string): string[] =>
      isPlain(record) ? record.split(CELL_END.text).slice(0, -1) : (JSON.parse(record) as string[]);
    return Buffer.from(records.flatMap((record) => listCells(record).map((cell) => `${cell}\0`)).join(''));
  }
  const cells = Buffer.from(records.join(''));
  for (let at = 0; at < cells.length; at++) if (cells[at] === CELL_END.byte) cells[at] = 0;
  return cells;
}

export const scriptDialect = (table: (name: string) => string): ScriptDialect => ({
  linesOf: BY_NUMBER,
  equals: (...of) => filterDialect(table).equals(...of),
  table,
  fieldType: FIELD_TYPE,
  list: 'SELECT value FROM json_array_elements_text(?::json) value',
  items: (json) =>
    `LATERAL (SELECT n - 1 AS key, value FROM json_array_elements(${json}::json) WITH ORDINALITY item(value, n))`,
  // The server itself limits the time of a statement.
  charge: () => 'TRUE',
  fieldsChanged: [statement(`UPDATE ${table('COUNTERS')} SET "NEXT" = "NEXT" + 1 WHERE "NAME" = 'fields'`)],
  lineColumns: (dictionary, line) => ({ folded: foldedValues(dictionary, line) }),
  recordJson,
  recordColumns(dictionary, record, names) {
    const has = (isOne: (field: Field) => boolean): boolean =>
      !names || names.some((name) => dictionary.has(name) && isOne(dictionary.get(name)!));
    return {
      ...(has(({ searched }) => searched) && { search: lowerEach(searchText(dictionary, record)) }),
      ...(has(({ type }) => type === 'text') && { folded: foldedValues(dictionary, record) }),
    };
  },
  indexRecord: () => [],
});

/**
 * Builds JSON with the columns in the order of the list and no spaces. Joining texts takes a third of the time of
 * row_to_json, with the same result if no value needs an escape.
 */
const recordJson: ScriptDialect['recordJson'] = (columns) => {
  const named = columns.map(([name, expression]) =>
    expression === `"${name}"` ? expression : `${expression} AS "${name}"`,
  );
  const values = columns.map(([, expression]) => expression);
  const members = columns.flatMap(([name, value], at) => [`'${at > 0 ? '",' : '{'}"${name}":"'`, value]);
  return `CASE WHEN strpos(to_json(${joinTexts(values)})::text, '\\') > 0
    THEN row_to_json((SELECT r FROM (SELECT ${named.join(', ')}) r))::text
    ELSE ${joinTexts([...members, `'"}'`])} END`;
};

/** Joins by halves, so that each text is copied only a logarithmic number of times. No text may be null. */
function joinTexts(expressions: readonly string[]): string {
  if (expressions.length === 1) return expressions[0]!;
  const half = Math.ceil(expressions.length / 2);
  return `(${joinTexts(expressions.slice(0, half))} || ${joinTexts(expressions.slice(half))})`;
}

/** Lowers character by character. pg_trgm lowers by the database's rules, which leave such a text unchanged. */
const lowerEach = (folded: string): string => Array.from(folded, (character) => character.toLowerCase()).join('');

/** Folds every text with characters beyond ASCII. Returns null if there is none. */
function foldedValues(dictionary: FieldDictionary, record: Values): string | null {
  const folded: Values = {};
  for (const { name, type } of dictionary.values())
    if (type === 'text' && /[^\0-\x7f]/.test(record[name] ?? '')) folded[name] = foldCase(record[name]!);
  return Object.keys(folded).length === 0 ? null : JSON.stringify(folded);
}
