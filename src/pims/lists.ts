/**
 * Lists kept in one field: serial numbers and tracking numbers, with commas between.
 */

/** `'A, B'` gives `['A', 'B']`. */
export const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
