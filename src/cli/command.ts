/** The parts that all commands share: the option --json, an example in the help, and the printing of a result. */
import { Argument, Option, type Command } from 'commander';
import { COMMAND_LINE } from '../audit/entry.ts';
import { formatTime, type Clock } from '../clock.ts';
import type { Environment } from '../config.ts';
import { RECORD_TYPES } from '../pims/rules/fields.ts';

/** The context of a command. A command that prints a result but failed sets the exit code. */
export interface CommandContext {
  readonly environment: Environment;
  readonly clock: Clock;
  /** Whether to print only one JSON object. */
  asJson: boolean;
  exitCode: number;
}

/** Adds commands to the program, or to a group of it. */
export type AddCommands = (parent: Command, context: CommandContext) => void;

/** Adds a command such as `create <team>`. `example` is an example of its arguments after `storeroom`. */
export const addCommand = (parent: Command, form: string, example: string, description: string): Command =>
  addGroup(parent, form, example, description).addOption(new Option('--json', 'print only one JSON object'));

/** Adds a word that only groups commands, such as `tenant`, or a command without --json. */
export const addGroup = (parent: Command, form: string, example: string, description: string): Command =>
  parent.command(form).description(description).addHelpText('after', `\nExample:\n  $ storeroom ${example}`);

export const recordTypeArgument = (form: string): Argument =>
  new Argument(form, 'record type').choices(Object.keys(RECORD_TYPES));

/** Prints the result of a command: the object with --json, otherwise the text. */
export function printAnswer({ asJson }: CommandContext, object: object, text: string): void {
  process.stdout.write(`${asJson ? JSON.stringify(object) : text}\n`);
}

export const byOperator = (nowMs: number) => ({ nowMs, actor: COMMAND_LINE, client: '' });

/** Returns the current time in the form of records: UTC, ISO 8601. */
export const timeOf = (clock: Clock): string => formatTime(clock.now());
