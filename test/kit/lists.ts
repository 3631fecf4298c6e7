/** Short ways to make lists and to look at them. */

/** What the items of a list have under one name. */
export const valuesOf = <T, Name extends keyof T>(items: readonly T[], name: Name): T[Name][] =>
  items.map((item) => item[name]);

/** The cells of a record under these names. */
export const cellsOf = <T>(record: Readonly<Record<string, T>>, names: string): (T | undefined)[] =>
  names.split(' ').map((name) => record[name]);

/** The items of a list with these of their members alone. */
export const pick = <T, Name extends keyof T>(items: readonly T[], ...names: Name[]): Pick<T, Name>[] =>
  items.map((item) => Object.fromEntries(names.map((name) => [name, item[name]])) as Pick<T, Name>);

/** So many items, each made from its place: 0, 1, 2, … */
export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** 1, 2, 3, … up to the count. */
export const range = (count: number): number[] => times(count, (index) => index + 1);

/** Compares texts as the numbers they are. */
export const byNumber = (a: string | number, b: string | number): number => Number(a) - Number(b);
