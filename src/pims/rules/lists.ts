/** Lists kept in one field with commas between: serial numbers and tracking numbers. */

/** `'A, B'` gives `['A', 'B']`. */
export const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
