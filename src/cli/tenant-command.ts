/** The commands about one tenant, which their first argument names. They work with its store, and print an answer. */
import type { Command } from 'commander';
import { addCommand, printAnswer, type CommandContext } from './command.ts';
import { withTenant, type TenantData } from './open-store.ts';

/** The members of the printed object after teamID, and the text that is printed without --json. */
export type TenantAnswer = readonly [members: object, text: string];

/** Adds a command such as `list <team>`. `work` receives the arguments after the team, and the options. */
export const addTenantCommand = <Words extends unknown[]>(
  parent: Command,
  context: CommandContext,
  form: string,
  example: string,
  description: string,
  work: (data: TenantData, ...words: Words) => Promise<TenantAnswer>,
): Command =>
  addCommand(parent, form, example, description).action(async (teamID: string, ...words: Words) => {
    const [members, text] = await withTenant(context, teamID, (data) => work(data, ...words));
    printAnswer(context, { teamID, ...members }, text);
  });
