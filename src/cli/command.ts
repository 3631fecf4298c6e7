/**
 * What all commands have in common: the option --json, an example in their help, and one way to answer. Never does a command's work.
 * Errors are the business of program.ts.
 */
import { Argument, Option, type Command } from 'commander';
import type { Environment } from '../config.ts';
import { RECORD_TYPES } from '../pims/fields.ts';

/** What a command runs with. One that ends with a result and yet without success sets the exit code. */
export interface CommandContext {
  readonly environment: Environment;
  exitCode: number;
}

export interface AnswerOptions {
  readonly json?: true;
}

interface About {
  readonly summary: string;
  /** Its arguments after `storeroom`. */
  readonly example: string;
}

/** Adds a command such as `create <team>` with --json and an example. */
export function addCommand(parent: Command, form: string, { summary, example }: About): Command {
  return describe(parent.command(form), summary, example).addOption(
    new Option('--json', 'print one JSON object and nothing else'),
  );
}

/** Adds a word that only groups commands, such as `tenant`. */
export function addGroup(program: Command, name: string, { summary, example }: About): Command {
  return describe(program.command(name), summary, example);
}

function describe(command: Command, summary: string, example: string): Command {
  return command.description(summary).addHelpText('after', `\nExample:\n  $ storeroom ${example}`);
}

export const recordTypeArgument = (form: string): Argument =>
  new Argument(form, 'kind of record').choices(Object.keys(RECORD_TYPES));

/** Prints the answer of a command: the object with --json, the text without. */
export function answer({ json }: AnswerOptions, object: Readonly<Record<string, unknown>>, text: string): void {
  process.stdout.write(`${json ? JSON.stringify(object) : text}\n`);
}
