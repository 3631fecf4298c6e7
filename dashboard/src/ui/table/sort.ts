/** Sorts the rows of a table by the user's column, which the address keeps (`?sort=-calls`). */
import { useQuery } from '../../browser/router.tsx';
import { parseSort } from './table.tsx';

/**
 * Sorts rows by the values of their columns. Example: `const { sorted, sort } = useSort(rows, { calls: (row) =>
 * row.calls }, '-calls')`; numbers start with the greatest, and texts with the first in the alphabet.
 */
export function useSort<Row>(
  rows: readonly Row[],
  values: Readonly<Record<string, (row: Row) => number | string>>,
  otherwise: string,
) {
  const [query, setQuery] = useQuery();
  const asked = query.get('sort') ?? otherwise;
  const { key, isDescending } = parseSort(Object.hasOwn(values, parseSort(asked).key) ? asked : otherwise);
  const valueOf = values[key]!;
  const compare = (a: Row, b: Row) => {
    const [left, right] = [valueOf(a), valueOf(b)];
    return left === right ? 0 : left < right ? -1 : 1;
  };
  const sorted = rows.toSorted((a, b) => (isDescending ? compare(b, a) : compare(a, b)));
  const onSort = (next: string) => {
    const beginsDescending = typeof (rows[0] && values[next]?.(rows[0])) === 'number';
    const wanted = next === key ? !isDescending : beginsDescending;
    const asText = `${wanted ? '-' : ''}${next}`;
    setQuery({ sort: asText === otherwise ? null : asText }, { replace: true });
  };
  return { sorted, sort: { key, isDescending, onSort } };
}
