/**
 * Marks the texts of a CSV file that a spreadsheet would run as formulas, and takes the marks off. Apostrophes and
 * quotes before a formula count as its beginning, so that a reader removes exactly what a writer added.
 */

/** A place where a spreadsheet could begin to read a cell, also one that separates by semicolons or tabs. */
const BEGIN = '(?<![^\\0;\\t\\r\\n])';
/**
 * A formula, or digits after apostrophes, which is how shops mark postal codes, but no negative number. NUL ends a cell
 * in a list of cells.
 */
const MARKED = "(?=['\"]*[=+\\-@\\t\\r\\n]|'+\\d+(?:\\0|$))(?!-\\d+(?:\\.\\d+)?(?:\\0|$))";
const UNGUARDED = new RegExp(BEGIN + MARKED, 'g');
const GUARDED = new RegExp(BEGIN + "'(?=['\"]*[=+\\-@\\t\\r\\n]|'*\\d+(?:\\0|$))", 'g');

/** Returns texts that a spreadsheet does not run: `guardFormulas('=1+1')` gives `'=1+1`. */
export const guardFormulas = (text: string): string => text.replaceAll(UNGUARDED, "'");
/** Returns the texts without marks, such as `=1+1` for `'=1+1`, and `+49` for a phone number that a shop has marked. */
export const unguardFormulas = (text: string): string => (text.includes("'") ? text.replaceAll(GUARDED, '') : text);
/** Doubles the apostrophes that a reader would take for marks. */
export const keepApostrophes = (text: string): string => text.replaceAll(GUARDED, "''");
