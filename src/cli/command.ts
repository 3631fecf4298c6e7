/**
 * The parts that all commands share: the option --json, an example in the help, and the printing of results, tables
 * (without control characters from outside), a progress bar, and faults (a sentence for refusals and for faults of
 * files and locks, a stack for everything else).
 */
import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import { formatTime, type Clock } from '../clock.ts';
import type { Environment } from '../config.ts';
import { Refusal } from '../errors.ts';
import { RECORD_TYPES } from '../pims/rules/fields.ts';
import { faultOf } from '../store/open-store.ts';

/** The context of a command. A command that fails after it has printed a result sets the exit code. */
export interface CommandContext {
  readonly environment: Environment;
  readonly clock: Clock;
  /** Whether to print only one JSON object. */
  asJson: boolean;
  exitCode: number;
}

/** Adds commands to the program, or to one of its groups. */
export type AddCommands = (parent: Command, context: CommandContext) => void;

/** Adds a command such as `create <team>`. `example` is a command line without `storeroom`, for the help. */
export const addCommand = (parent: Command, form: string, example: string, description: string): Command =>
  addGroup(parent, form, example, description).addOption(new Option('--json', 'print only one JSON object'));

/** Adds a word that only groups commands, such as `tenant`, or a command without --json. */
export const addGroup = (parent: Command, form: string, example: string, description: string): Command =>
  parent.command(form).description(description).addHelpText('after', `\nExample:\n  $ storeroom ${example}`);

export const recordTypeArgument = (form: string): Argument =>
  new Argument(form, 'record type').choices(Object.keys(RECORD_TYPES));

/** Makes the parser of an option, whose value must have a form such as `look like 2026-11`. */
export const parseForm =
  (form: RegExp, words: string) =>
  (text: string): string => {
    if (form.test(text)) return text;
    throw new InvalidArgumentError(`It must ${words}.`);
  };

/** Makes the parser of an option whose value is a number, or `none` if the schema allows null. */
export const parseNumber =
  ({ type, minimum, maximum }: NumberSchema) =>
  (text: string): number | 'none' => {
    const [form, what] = type.includes('integer') ? [/^\d+$/, 'whole number'] : [/^\d+(\.\d{1,3})?$/, 'number'];
    const none = Array.isArray(type) ? ', or none' : '';
    const number = Number(text);
    if (none !== '' && text === 'none') return text;
    if (form.test(text) && number >= minimum && number <= maximum) return number;
    throw new InvalidArgumentError(`It must be a ${what} from ${minimum} to ${maximum}${none}.`);
  };

export interface NumberSchema {
  readonly type: string | readonly string[];
  readonly minimum: number;
  readonly maximum: number;
}

/** Prints the result of a command: the object with --json, otherwise the text. */
export function printAnswer({ asJson }: CommandContext, object: object, text: string): void {
  process.stdout.write(`${asJson ? JSON.stringify(object) : text}\n`);
}

/** Returns the current time in the form of records: UTC, ISO 8601. */
export const timeOf = (clock: Clock): string => formatTime(clock.now());

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

const FULL =
  'The disk of STOREROOM_DATA, or of the folder given to the command, is full. Free space on it, and try again.';

interface PrintedFault {
  readonly code: string;
  readonly message: string;
  readonly field?: string;
  readonly stack?: string | undefined;
}

/** Prints a fault. `priority` begins each line, for the journal. */
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
  if (!(fault instanceof Error)) return { code: 'INTERNAL_ERROR', message: String(fault) };
  const kind = faultOf(fault);
  const { message, stack } = fault;
  const locked = 'Another process has locked the store. Try again.';
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
