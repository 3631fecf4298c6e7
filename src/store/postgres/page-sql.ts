/**
 * The SQL of pages. A query by itself is planned by its own values. Queries of one shape travel together: each walks
 * indexes in the order of the keys, as far as its page goes, and is answered in one row.
 */
import type { FilterTree } from '../../pims/filter.ts';
import type { KeyedType } from '../../pims/fields.ts';
import type { QueryRequest } from '../../pims/port.ts';
import { buildWhere, type Dialect, type Where } from '../pims/where.ts';
import type { Statement } from '../writing.ts';

/** Larger pages, and those of so many alternatives or values, are read by themselves. */
const TOGETHER_LIMIT = 500;
const TOGETHER_ALTERNATIVES = 8;
const TOGETHER_VALUES = 16;
const TOGETHER_BYTES = 1024 * 1024;
/** In place of records that are too large for that. */
export const LARGE_PAGE = '';
/** `records` is null when there are none. `count`: one more than the limit when there are more. */
export type PageRow = [at: number, records: string | null, count: number, last: string | null, fieldsVersion: number];

export interface PageParts {
  readonly table: string;
  readonly json: string;
  readonly fieldsVersion: string;
}

/** A query that may travel with others of its shape. */
export interface PageQuestion {
  /** The same for questions that fit into one statement. */
  readonly shape: string;
  readonly limit: number;
  readonly bytesMax: number;
  readonly after: string;
  readonly values: readonly string[];
  /** $1 to $3: a number for each question, where it begins, and their limit. Then a list for each value. */
  readonly sql: () => string;
}

export interface PageQuery {
  /** By itself. */
  readonly alone: Pick<Statement, 'sql'> & { readonly values: readonly (string | number)[] };
  readonly together: PageQuestion | undefined;
}

export function buildPage(
  recordType: KeyedType,
  tree: FilterTree,
  { limit, after, bytesMax }: QueryRequest,
  dialect: Dialect,
  parts: PageParts,
): PageQuery {
  const whole = buildWhere(recordType, tree, dialect);
  const walks =
    whole.indexLed && tree.length > 0 ? tree.map((terms) => buildWhere(recordType, [terms], dialect)) : [whole];
  const values = walks.flatMap((walk) => walk.values);
  const isSmall = limit <= TOGETHER_LIMIT && walks.length <= TOGETHER_ALTERNATIVES && values.length <= TOGETHER_VALUES;
  const shape = walks.map(({ sql }) => sql).join(' OR ');
  return {
    alone: {
      sql: `SELECT "SORT_KEY", ${parts.json}, (${parts.fieldsVersion})
        FROM (${findRows(parts.table, walks, { after: '?', limit: '?' }, () => '?')}) o ORDER BY "SORT_KEY"`,
      values: [
        ...walks.flatMap((walk) => [...walk.values, after, limit + 1]),
        ...(walks.length > 1 ? [limit + 1] : []),
      ],
    },
    together:
      whole.indexLed && isSmall
        ? {
            shape: `${recordType} ${limit} ${shape}`,
            limit,
            bytesMax,
            after,
            values,
            sql: () => joinPages(walks, parts),
          }
        : undefined,
  };
}

/** The rows of a page in the order of their keys, each once: each alternative goes along its index to the limit. */
function findRows(
  table: string,
  walks: readonly Pick<Where, 'sql'>[],
  { after, limit }: { readonly after: string; readonly limit: string },
  bind: () => string,
): string {
  const end = `ORDER BY "SORT_KEY" LIMIT ${limit}`;
  const found = walks.map(
    ({ sql }) => `SELECT * FROM ${table} WHERE (${sql.replaceAll('?', bind)}) AND "SORT_KEY" > ${after} ${end}`,
  );
  if (found.length === 1) return found[0]!;
  return `SELECT DISTINCT ON ("SORT_KEY") * FROM ((${found.join(') UNION ALL (')})) found ${end}`;
}

function joinPages(walks: readonly Where[], { table, json, fieldsVersion }: PageParts): string {
  let values = 0;
  const found = findRows(table, walks, { after: 'q.after', limit: '$3 + 1' }, () => `q.v${++values}`);
  const names = Array.from({ length: values }, (_, at) => `v${at + 1}`);
  const lists = names.map((_, at) => `$${at + 4}::text[]`);
  return `SELECT q.at, CASE WHEN octet_length(p.records) <= ${TOGETHER_BYTES} THEN p.records ELSE '${LARGE_PAGE}' END,
      p.count, p.last, (${fieldsVersion})
    FROM unnest(${['$1::int[]', '$2::text[]', ...lists].join(', ')}) AS q(${['at', 'after', ...names].join(', ')})
    CROSS JOIN LATERAL (SELECT string_agg(${json}, ',') FILTER (WHERE n <= $3) AS records, count(*) AS count,
        max("SORT_KEY") FILTER (WHERE n <= $3) AS last
      FROM (SELECT *, row_number() OVER () AS n FROM (${found}) found) numbered) p`;
}
