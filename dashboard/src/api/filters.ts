/**
 * Filters of a query, as the address keeps them and as the API takes them. In the address each is one
 * `filter=and.contains.SHIP_VIA.federal`.
 */
export interface RecordFilter {
  readonly conjunction: 'AND' | 'OR';
  readonly field: string;
  readonly contains: boolean;
  readonly value: string;
}

/** Dots part the address's form, so one in a field name is written as %2E. */
export const formatFilter = ({ conjunction, field, contains, value }: RecordFilter): string =>
  [
    conjunction.toLowerCase(),
    contains ? 'contains' : 'exact',
    encodeURIComponent(field).replaceAll('.', '%2E'),
    value,
  ].join('.');

function parseFilter(text: string): RecordFilter[] {
  const parts = /^(and|or)\.(exact|contains)\.([^.]*)\.(.*)$/su.exec(text);
  if (parts === null) return [];
  const [, conjunction, match, field = '', value = ''] = parts;
  try {
    return [
      {
        conjunction: conjunction === 'or' ? 'OR' : 'AND',
        field: decodeURIComponent(field),
        contains: match === 'contains',
        value,
      },
    ];
  } catch {
    return []; // Somebody has written the address by hand.
  }
}

export const parseFilters = (query: URLSearchParams): RecordFilter[] => query.getAll('filter').flatMap(parseFilter);

/** The body of the query. The conjunction of the first filter means nothing and is left out. */
export const toFilterBody = (filters: readonly RecordFilter[]) =>
  filters.map(({ conjunction, field, contains, value }, index) => ({
    field,
    value,
    ...(contains && { contains }),
    ...(index > 0 && { conjunction }),
  }));

/** Example: `filteredPath('orders', { CUSTOMER_CODE: 'VINET' })` leads to the list with that exact filter. */
export function filteredPath(kind: string, exact: Readonly<Record<string, string>>): string {
  const filters = Object.entries(exact).map(([field, value]) => [
    'filter',
    formatFilter({ conjunction: 'AND', field, contains: false, value }),
  ]);
  return `/records/${kind}?${new URLSearchParams(filters).toString()}`;
}
