/**
 * Text for a terminal: columns, and values from outside made harmless to it. Never writes anywhere.
 */

/** Rows in columns as wide as their widest cell. */
export function buildTable(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(printable));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ').trimEnd()).join('\n'); // prettier-ignore
}

/** Text without control characters, which could move the cursor or recolour the terminal. */
export const printable = (text: string): string => text.replace(/\p{Cc}/gu, '\u{fffd}');
