/** What all commands share: the option --json, an example in the help, and the way an answer is printed. */
import { Argument, Option, type Command } from 'commander';
import { COMMAND_LINE } from '../audit/entry.ts';
import type { Clock } from '../clock.ts';
import type { Environment } from '../config.ts';
import { RECORD_TYPES } from '../pims/rules/fields.ts';

/** What a command runs with. A command that prints a result and still failed sets the exit code. */
export interface CommandContext {
  readonly environment: Environment;
  readonly clock: Clock;
  /** Whether the answer is one JSON object, with nothing beside it. */
  readonly asJson: boolean;
  exitCode: number;
}

export interface CommandOptions {
  readonly json?: true;
}

/** Adds a command such as `create <team>`. `example` is an example of its arguments after `storeroom`. */
export const addCommand = (parent: Command, form: string, example: string): Command =>
  addGroup(parent, form, example).addOption(new Option('--json', 'print one JSON object and nothing else'));

/** Adds a word that only groups commands, such as `tenant`. */
export const addGroup = (parent: Command, name: string, example: string): Command =>
  parent.command(name).addHelpText('after', `\nExample:\n  $ storeroom ${example}`);

export const recordTypeArgument = (form: string): Argument =>
  new Argument(form, 'kind of record').choices(Object.keys(RECORD_TYPES));

/** Prints the answer of a command: the object with --json, else the text. */
export function printAnswer({ json }: CommandOptions, object: Readonly<Record<string, unknown>>, text: string): void {
  process.stdout.write(`${json ? JSON.stringify(object) : text}\n`);
}

export const byOperator = (nowMs: number) => ({ nowMs, actor: COMMAND_LINE, client: '' });

/** The time of a record: UTC, ISO 8601. */
export const timeOf = (clock: Clock): string => new Date(clock.now()).toISOString();
