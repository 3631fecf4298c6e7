/** How each store finds the lines of an order. */
import { sortKey } from '../../pims/rules/values.ts';

export interface LinesOf {
  /** The column of orders and of lines that says which lines are whose. */
  readonly column: 'ORDER_NUMBER' | 'SORT_KEY';
  /** The column that sorts the lines of one order by number, with an index. */
  readonly by: 'LINE_NUMBER' | 'SORT_KEY';
  /** Builds the condition that a line with this `column` is of the order with this one, or else of the bound order. */
  readonly isOf: (line: string, order?: string) => string;
  /** Returns the value of an order's `column`. */
  readonly bind: (orderNumber: string) => string;
}

/** On PostgreSQL: the planner knows what an equal number finds. */
export const BY_NUMBER: LinesOf = {
  column: 'ORDER_NUMBER',
  by: 'LINE_NUMBER',
  isOf: (line, order = '?') => `${line} = ${order}`,
  bind: (orderNumber) => orderNumber,
};

/** On SQLite: keys of lines begin with the key of their order (`startOfLines`), so that lines need no second index. */
export const BY_KEY: LinesOf = {
  column: 'SORT_KEY',
  by: 'SORT_KEY',
  isOf(line, order = '?1') {
    const start = `replace(${order}, char(1), char(1, 2))`;
    return `${line} > ${start} || char(1, 1) AND ${line} < ${start} || char(1, 2)`;
  },
  bind: sortKey,
};
