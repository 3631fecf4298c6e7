/**
 * Downloads of text, and of tables as CSV (RFC 4180) with marks before formulas, as `storeroom export --spreadsheet`.
 */
import { guardFormulas } from '../../../src/pims/csv/formulas.ts';

type Cell = string | number;

function quote(cell: Cell): string {
  const text = guardFormulas(String(cell));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Example: `downloadCSV('usage.csv', ['day', 'calls'], [['2026-11-20', 3]])`; every line ends with CR LF. */
export function downloadCSV(name: string, head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const lines = [head, ...rows].map((row) => `${row.map(quote).join(',')}\r\n`);
  downloadFile(name, 'text/csv;charset=utf-8', lines.join(''));
}

/** Example: `downloadFile('codes.txt', 'text/plain;charset=utf-8', text)`. */
export function downloadFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the file only after this turn.
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
