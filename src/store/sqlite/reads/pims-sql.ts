/**
 * The SQL of one tenant's inventory system on SQLite: the dialect of the shared SQL, and all reads. SQLite builds the
 * JSON of the responses. Column names come only from the dictionaries, and values are always bound.
 */
import {
  ofKeyedTypes,
  pickFields,
  RECORD_TYPES,
  type Dictionaries,
  type RecordType,
} from '../../../pims/rules/fields.ts';
import type { QueryRequest } from '../../../pims/pims-port.ts';
import { parseFilters, parseSort } from '../../../pims/reads/query.ts';
import { VIEWED_FIELDS } from '../../../pims/reads/storefront.ts';
import { buildColumn, CANCELLED, columnsOf, tagColumn, type Column, type ScriptDialect } from '../../pims/row-sql.ts';
import { buildScriptSql } from '../../pims/script-sql.ts';
import { statement } from '../../sql/writing.ts';
import { FIELD_TYPE } from '../files/migrate.ts';
import { BY_KEY } from '../../pims/lines-of.ts';
import type { EntryCounts } from './entry-counts.ts';
import { dialect, makePageBuilder } from './page-sql.ts';
import { LOOP_RECORDS_MAX, type PageRead } from './run-read.ts';

// See page-sql.ts.
const LIMIT = 'LIMIT ? + 0';

export const scriptDialect: ScriptDialect = {
  linesOf: BY_KEY,
  equals: (...of) => dialect.equals(...of),
  table: (name) => `"${name}"`,
  fieldType: FIELD_TYPE,
  list: 'SELECT value FROM json_each(?)',
  items: (json) => `json_each(${json})`,
  charge: (column) => `charge_row(${column})`,
  // SQLite itself notifies every connection of a changed schema.
  fieldsChanged: [],
  lineColumns: () => ({}),
  recordJson: (columns) => `json_object(${columns.map(([name, expression]) => `'${name}', ${expression}`).join(', ')})`,
  recordColumns: () => ({}),
  indexRecord(table, text, sortKey) {
    const search = { table, text: text(), ...(sortKey !== undefined && { sortKey }) };
    const sql =
      sortKey === undefined
        ? `INSERT INTO "${table}_SEARCH" (rowid, "FOLDED") VALUES (last_insert_rowid(), ?)`
        : `UPDATE "${table}_SEARCH" SET "FOLDED" = ? WHERE rowid = (SELECT "ID" FROM "${table}" WHERE "SORT_KEY" = ?)`;
    return [{ ...statement(sql, search.text, ...(sortKey === undefined ? [] : [sortKey])), search }];
  },
};

export type SqlitePimsSql = ReturnType<typeof buildPimsSql>;

export function buildPimsSql(dictionaries: Dictionaries) {
  const json = (recordType: RecordType, names?: readonly string[], ...more: Column[]) => {
    const dictionary = dictionaries[recordType];
    const columns = columnsOf((names ? pickFields(dictionary, recordType, names) : dictionary).keys());
    return scriptDialect.recordJson([...columns, ...more]);
  };
  const keyedJson = ofKeyedTypes(json);
  const pageJson = { ...keyedJson, lines: json('lines') };
  const pages = makePageBuilder(pageJson);
  // These pages have an empty row for each record.
  const countedPages = makePageBuilder({ ...ofKeyedTypes(() => "''"), lines: "''" });
  // The lines of an order are side by side in the primary key of the table, so they need no sorting.
  const selectLines = (line: string, order: string, more = '') =>
    `(SELECT json_group_array(${line}) FROM ORDER_LINEITEMS l WHERE ${BY_KEY.isOf('l.SORT_KEY', order)} ${more})`;
  const wholeLine = `json_object('ORDER_LINEITEMS', ${pageJson.lines})`;
  const charged = 'AND charge_row(LINE_NUMBER)';
  /** Builds the columns of a page after the keys. */
  const pageColumns = (recordType: RecordType, { fields, hasLines }: QueryRequest) => {
    const record = fields ? json(recordType, fields) : pageJson[recordType];
    return hasLines ? `${record}, ${selectLines(wholeLine, 'ORDERS.SORT_KEY', charged)}` : record;
  };
  const records = ofKeyedTypes(
    (recordType) =>
      `SELECT ${keyedJson[recordType]}, ${tagColumn(dictionaries, recordType)} FROM ${RECORD_TYPES[recordType].table} WHERE SORT_KEY = ?`,
  );
  const rows = (recordType: RecordType, names: readonly string[]) => {
    const columns = names.map((name) => buildColumn(name));
    return `SELECT concat_ws(char(0), ${columns.join(', ')}, '') FROM ${RECORD_TYPES[recordType].table} ORDER BY SORT_KEY`;
  };
  return {
    dictionaries,
    script: buildScriptSql(dictionaries, scriptDialect),
    records,
    orderWithLines: `SELECT ${keyedJson.orders}, ${tagColumn(dictionaries, 'orders')},
      ${selectLines(wholeLine, 'ORDERS.SORT_KEY')} FROM ORDERS WHERE SORT_KEY = ?`,
    /** Finds orders by a list of numbers: the place of the number, and the fields of the lookup. */
    ordersByReference: `SELECT q.key, ${json('orders', VIEWED_FIELDS.orders, CANCELLED)},
        ${selectLines(json('lines', VIEWED_FIELDS.lines), 'o.SORT_KEY', charged)}
      FROM json_each(?) q CROSS JOIN ORDERS o INDEXED BY ORDERS_REFERENCE_NUMBER
        ON o.REFERENCE_NUMBER = q.value AND charge_row(o.ID) ${LIMIT}`,
    /** Reads these fields of every record of a type in the order of its key, as one text. */
    rows,
    buildPageSql(recordType: RecordType, request: QueryRequest, counts: EntryCounts): PageRead {
      const { filters, limit, bytesMax, after, hasLines = false, isCounted } = request;
      const sort = parseSort(dictionaries[recordType], recordType, request.sort);
      const tree = parseFilters(dictionaries[recordType], recordType, filters);
      const isPlain = !request.fields && !hasLines;
      const builder = isPlain
        ? pages
        : makePageBuilder({ ...pageJson, [recordType]: pageColumns(recordType, request) });
      const page = builder.buildPage(recordType, tree, counts, sort);
      // The page before this one was probably too long for the event loop, so this one is, too.
      const isShort = page.isShort && (after === '' || limit <= LOOP_RECORDS_MAX);
      const all = isCounted ? countedPages.buildPage(recordType, tree, counts) : undefined;
      const counted = all?.cheaperPlan ?? all;
      return { kind: 'page', ...page, isShort, after, limit, bytesMax, hasLines, counted };
    },
  };
}
