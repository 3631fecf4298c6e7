/** Short functions that make lists and read their items. */

/** Returns the value that each item has under a name. */
export const valuesOf = <T, Name extends keyof T>(items: readonly T[], name: Name): T[Name][] =>
  items.map((item) => item[name]);

/** Returns the values of a record under names that spaces separate. */
export const cellsOf = <T>(record: Readonly<Record<string, T>>, names: string): (T | undefined)[] =>
  names.split(' ').map((name) => record[name]);

/** Returns the items with only these members. */
export const pick = <T, Name extends keyof T>(items: readonly T[], ...names: Name[]): Pick<T, Name>[] =>
  items.map((item) => Object.fromEntries(names.map((name) => [name, item[name]])) as Pick<T, Name>);

/** Makes `count` items, each from its index: 0, 1, 2, … */
export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Returns 1, 2, 3, … up to the count. */
export const range = (count: number): number[] => times(count, (index) => index + 1);

/** Compares texts as numbers. */
export const byNumber = (a: string | number, b: string | number): number => Number(a) - Number(b);
