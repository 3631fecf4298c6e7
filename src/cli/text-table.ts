/** Text for a terminal: tables, and values from outside without control characters. */

/** Formats rows in columns as wide as their widest cell. */
export function buildTable(rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => printable(String(cell))));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Replaces control characters, which could move the cursor or recolour the terminal. */
export const printable = (text: string): string => text.replace(/\p{Cc}/gu, '\u{fffd}');
