/**
 * What went wrong, in words for standard error: a refusal as it is, trouble with files and with another process's transaction as a sentence, all
 * else with its stack, since the reader is the operator. With --json one object. Never decides an exit code.
 */
import { Refusal } from '../errors.ts';
import { faultOf } from '../store/sqlite/database.ts';
import { printable } from './table.ts';

interface Fault {
  readonly code: string;
  readonly message: string;
  readonly field?: string;
  readonly stack?: string | undefined;
}

export function describeFault(fault: unknown): Fault {
  if (fault instanceof Refusal && typeof fault.cause === 'string')
    return { code: fault.code, message: `${fault.message} (${fault.cause})` };
  if (fault instanceof Refusal)
    return { code: fault.code, message: fault.message, ...(fault.field === undefined ? {} : { field: fault.field }) };
  if (!(fault instanceof Error)) return { code: 'INTERNAL_ERROR', message: String(fault) };
  const kind = faultOf(fault);
  if (kind === 'busy')
    return {
      code: 'STORE_UNAVAILABLE',
      message: 'Another process has held the store for too long; nothing was written. Try again.',
    };
  if (kind === 'full') return { code: 'STORAGE_FULL', message: 'The disk is full; nothing was written.' };
  if (isUnusable(fault))
    return {
      code: 'STORE_UNAVAILABLE',
      message: `The store cannot be used: ${fault.message}. Look at the folder, its disk and its permissions.`,
    };
  if ('syscall' in fault) return { code: 'COMMAND_REFUSED', message: fault.message };
  return { code: 'INTERNAL_ERROR', message: fault.message, stack: fault.stack };
}

/** SQLite's codes for a file that is read-only, fails, is damaged, cannot be opened, or is none of its own. */
const UNUSABLE = [8, 10, 11, 14, 26];
const isUnusable = (fault: Error & { errcode?: number }): boolean => UNUSABLE.includes((fault.errcode ?? 0) & 0xff);

export function printFault({ stack, ...fault }: Fault, asJson: boolean): void {
  process.stderr.write(
    asJson
      ? `${JSON.stringify({ error: fault })}\n`
      : `storeroom: ${stack ?? fault.message.split('\n').map(printable).join('\n')}\n`,
  );
}
