/**
 * What a command shows on a terminal: tables, values from outside without control characters, a progress bar, and
 * faults: a sentence for refusals and for faults of files and locks, and a stack for everything else.
 */
import { Refusal } from '../errors.ts';
import { NewerStore } from '../store/control/control.ts';
import { faultOf } from '../store/sqlite/files/database.ts';

/** Formats rows in columns as wide as their widest cell. */
export function buildTable(rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => printable(String(cell))));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Replaces control characters, which could move the cursor or recolour the terminal. */
export const printable = (text: string): string => text.replace(/\p{Cc}/gu, '\u{fffd}');

interface ProgressBar {
  readonly start: (total: number) => void;
  readonly advance: (by: number) => void;
  readonly stop: () => void;
}

export async function createProgressBar(): Promise<ProgressBar> {
  if (!process.stderr.isTTY) return { start: () => undefined, advance: () => undefined, stop: () => undefined };
  const { default: progress } = await import('cli-progress');
  const bar = new progress.SingleBar(
    { format: '{bar} {percentage} %  {eta_formatted} left', clearOnComplete: true },
    progress.Presets.shades_classic,
  );
  return { start: (total) => bar.start(total, 0), advance: (by) => bar.increment(by), stop: () => bar.stop() };
}

const FULL = 'The disk of STOREROOM_DATA is full. Nothing was written. Free space on it, or set another folder.';

interface PrintedFault {
  readonly code: string;
  readonly message: string;
  readonly field?: string;
  readonly stack?: string | undefined;
}

/** `priority` begins each line, for the journal. */
export function printFault(fault: unknown, asJson: boolean, priority = ''): void {
  const { stack, ...printed } = describeFault(fault);
  if (asJson) printErrorObject(printed);
  else {
    const text = `storeroom: ${stack ?? printed.message.split('\n').map(printable).join('\n')}\n`;
    process.stderr.write(text.replace(/^(?=.)/gm, priority));
  }
}

export function printErrorObject(error: Omit<PrintedFault, 'stack'>): void {
  process.stderr.write(`${JSON.stringify({ error })}\n`);
}

function describeFault(fault: unknown): PrintedFault {
  if (fault instanceof Refusal) return describeRefusal(fault);
  if (fault instanceof NewerStore) return { code: 'COMMAND_REFUSED', message: fault.message };
  if (!(fault instanceof Error)) return { code: 'INTERNAL_ERROR', message: String(fault) };
  const kind = faultOf(fault);
  const { message, stack } = fault;
  const locked = 'Another process has locked the store. Nothing was written. Try again.';
  const unusable = `The store cannot be used: ${message}. Check the folder of STOREROOM_DATA, its disk and its permissions.`;
  if (kind === 'busy') return { code: 'STORE_UNAVAILABLE', message: locked };
  if (kind === 'full') return { code: 'STORAGE_FULL', message: FULL };
  if (isUnusable(fault)) return { code: 'STORE_UNAVAILABLE', message: unusable };
  if ('syscall' in fault) return { code: 'COMMAND_REFUSED', message };
  return { code: 'INTERNAL_ERROR', message, stack };
}

function describeRefusal({ code, message, field, cause }: Refusal): PrintedFault {
  if (typeof cause === 'string') return { code, message: `${message} (${cause})` };
  return { code, message, ...(field !== undefined && { field }) };
}

/** SQLite's codes for a file that is read-only, fails, is damaged, cannot be opened, or is not a database. */
const UNUSABLE = [8, 10, 11, 14, 26];
const isUnusable = (fault: Error & { errcode?: number }) => UNUSABLE.includes((fault.errcode ?? 0) & 0xff);
