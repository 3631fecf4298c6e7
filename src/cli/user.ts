/**
 * `storeroom user …`: the people of a tenant who sign in to the dashboard. A password is never given here: whoever is to have one gets a link, good once.
 * The rules are those of account/.
 */
import { Option, type Command } from 'commander';
import { Users } from '../account/users.ts';
import { ROLES, type Role } from '../account/roles.ts';
import { parseConfig } from '../config.ts';
import { COMMAND_LINE } from '../audit/entry.ts';
import { addCommand, addGroup, answer, type AnswerOptions, type CommandContext } from './command.ts';
import { withTenant } from './data.ts';
import { formatLink } from './link.ts';
import { buildTable } from './table.ts';

type RoleOptions = AnswerOptions & { role: Role };

export function addUserCommands(program: Command, context: CommandContext): void {
  const group = addGroup(program, 'user', {
    summary: 'Make, list, change and remove users of the dashboard.',
    example: 'user create acme ann@example.com --role owner',
  });
  addLinkCommands(group, context);
  addOtherCommands(group, context);
}

const roleOption = (): Option =>
  new Option('--role <role>', 'what the user may do').choices(ROLES).makeOptionMandatory();

function addLinkCommands(group: Command, { environment }: CommandContext): void {
  const show = (
    options: AnswerOptions,
    teamId: string,
    email: string,
    { token, endsAt }: { token: string; endsAt: string },
  ): void => {
    const link = formatLink(parseConfig(environment, {}).config, token);
    answer(
      options,
      { teamID: teamId, email, link, endsAt },
      `${link}\n\nWhoever opens it sets the password of ${email}. It is good once, until ${endsAt}, and not shown again.`,
    );
  };
  addCommand(group, 'create <team> <email>', {
    summary: 'Make a user and print the one-time link that sets a password.',
    example: 'user create acme ann@example.com --role owner',
  })
    .addOption(roleOption())
    .action(async (teamId: string, email: string, { role, ...options }: RoleOptions) => {
      const issued = await withTenant(environment, teamId, ({ store }) =>
        new Users(store.users).inviteUser(teamId, email, role, by()),
      );
      show(options, teamId, email, issued);
    });
  addCommand(group, 'link <team> <email>', {
    summary: 'Print a new one-time link for a user. Using it sets a new password and takes the second factor away.',
    example: 'user link acme ann@example.com',
  }).action(async (teamId: string, email: string, options: AnswerOptions) => {
    const issued = await withTenant(environment, teamId, ({ store }) =>
      new Users(store.users).renewLink(teamId, email, by()),
    );
    show(options, teamId, email, issued);
  });
}

function addOtherCommands(group: Command, { environment }: CommandContext): void {
  addCommand(group, 'list <team>', { summary: 'List the users of a tenant.', example: 'user list acme' }).action(
    async (teamId: string, options: AnswerOptions) => {
      const found = await withTenant(environment, teamId, ({ store }) => new Users(store.users).listUsers(teamId));
      const users = found.map(({ email, role, createdAt, passwordHash, sealedSecret }) => {
        return { email, role, createdAt, hasPassword: passwordHash !== '', hasSecondFactor: sealedSecret !== null };
      });
      const rows = users.map(({ email, role, createdAt, hasPassword, hasSecondFactor }) => [
        email,
        role,
        createdAt.slice(0, 10),
        hasPassword ? 'set' : 'not yet',
        hasSecondFactor ? 'on' : 'off',
      ]);
      answer(
        options,
        { teamID: teamId, users },
        buildTable([['E-MAIL', 'ROLE', 'MADE', 'PASSWORD', 'SECOND FACTOR'], ...rows]),
      );
    },
  );
  addCommand(group, 'role <team> <email>', {
    summary: 'Give a user another role.',
    example: 'user role acme ann@example.com --role developer',
  })
    .addOption(roleOption())
    .action(async (teamId: string, email: string, { role, ...options }: RoleOptions) => {
      await withTenant(environment, teamId, ({ store }) =>
        new Users(store.users).changeRole(teamId, email, role, by()),
      );
      answer(options, { teamID: teamId, email, role }, `${email} is ${role} of ${teamId} now.`);
    });
  addCommand(group, 'remove <team> <email>', {
    summary: 'Remove a user and end all sessions of theirs.',
    example: 'user remove acme ann@example.com',
  }).action(async (teamId: string, email: string, options: AnswerOptions) => {
    await withTenant(environment, teamId, ({ store }) => new Users(store.users).deleteUser(teamId, email, by()));
    answer(options, { teamID: teamId, email, removed: true }, `Removed ${email} from ${teamId}.`);
  });
}

const by = () => ({ nowMs: Date.now(), actor: COMMAND_LINE, client: '' });
