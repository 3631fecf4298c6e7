/** Marks the texts of a CSV file that a spreadsheet would run as formulas, as `storeroom export --spreadsheet` does. */

/**
 * The places where a spreadsheet could begin to read a formula, also one that separates cells by semicolons or tabs. The
 * apostrophes and quotes before a formula count, so that a reader can remove exactly what was added.
 */
const FORMULA = /(?<![^;\t\r\n])(?=['"]*[=+\-@\t\r\n])/g;
const NUMBER = /^-?\d+(\.\d+)?$/;
/** Returns a text that a spreadsheet does not run: `guardFormula('=1+1')` gives `'=1+1`. */
export const guardFormula = (cell: string): string => (NUMBER.test(cell) ? cell : cell.replaceAll(FORMULA, "'"));
