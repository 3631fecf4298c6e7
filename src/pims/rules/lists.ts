/** Lists in one field, separated by commas: serial numbers and tracking numbers. */

/** Splits a list at its commas: `'A, B'` becomes `['A', 'B']`. */
export const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
