/** `storeroom user …`: the users of a tenant's dashboard. Prints the one-time links that set their passwords. */
import { Option, type Command } from 'commander';
import type { UserName } from '../../../account/account-port.ts';
import { ROLES, type Role } from '../../../account/roles.ts';
import { Users, type IssuedLink } from '../../../account/users.ts';
import { parseConfig } from '../../../config.ts';
import {
  addCommand,
  addGroup,
  byOperator,
  printAnswer,
  type CommandContext,
  type CommandOptions,
} from '../../command.ts';
import { withTenant } from '../../open-store.ts';
import { findOrigin, formatLink } from '../../service-address.ts';
import { buildTable } from '../../text-table.ts';

type RoleOptions = CommandOptions & { role: Role };

export function addUserCommands(program: Command, context: CommandContext): void {
  const group = addGroup(program, 'user', 'user create acme ann@example.com --role owner');
  group.description('Make, list, change and remove users of the dashboard.');
  const withUsers = <T>(teamId: string, work: (users: Users) => Promise<T>): Promise<T> =>
    withTenant(context, teamId, ({ store }) => work(new Users(store.users)));
  /** Runs `issue` and prints its link, with the address that the service was last reached at. */
  const printLink = async (
    options: CommandOptions,
    { teamId, email }: UserName,
    issue: (users: Users) => Promise<IssuedLink>,
  ): Promise<void> => {
    const { config } = parseConfig(context.environment, {});
    const [origin, { token, endsAt }] = await withTenant(context, teamId, async ({ store }) => {
      const kept = config.publicUrl || (await store.installation.load('origin'));
      return [kept ?? findOrigin(config), await issue(new Users(store.users))] as const;
    });
    const link = formatLink(origin, token);
    const text = `This link sets the password of ${email}. It works once, until ${endsAt}, and is not shown again.`;
    printAnswer(options, { teamID: teamId, email, link, endsAt }, `${link}\n\n${text}`);
  };

  addCommand(group, 'create <team> <email>', 'user create acme ann@example.com --role owner')
    .description('Make a user and print the one-time link that sets a password.')
    .addOption(roleOption())
    .action(async (teamId: string, email: string, { role, ...options }: RoleOptions) => {
      const invite = (users: Users) => users.inviteUser(teamId, email, role, byOperator(context.clock.now()));
      await printLink(options, { teamId, email }, invite);
    });

  addCommand(group, 'link <team> <email>', 'user link acme ann@example.com')
    .description('Print a new one-time link for a user. It sets a new password and removes the second factor.')
    .action(async (teamId: string, email: string, options: CommandOptions) => {
      const renew = (users: Users) => users.renewLink(teamId, email, byOperator(context.clock.now()));
      await printLink(options, { teamId, email }, renew);
    });

  addCommand(group, 'list <team>', 'user list acme')
    .description('List the users of a tenant.')
    .action(async (teamId: string, options: CommandOptions) => {
      const found = await withUsers(teamId, (users) => users.listUsers(teamId));
      const users = found.map(({ email, role, createdAt, passwordHash, sealedSecret }) => {
        return { email, role, createdAt, hasPassword: passwordHash !== '', hasSecondFactor: sealedSecret !== null };
      });
      const rows = users.map(({ email, role, createdAt, hasPassword, hasSecondFactor }) => {
        return [email, role, createdAt.slice(0, 10), hasPassword ? 'set' : 'not yet', hasSecondFactor ? 'on' : 'off'];
      });
      const table = buildTable([['E-MAIL', 'ROLE', 'MADE', 'PASSWORD', 'SECOND FACTOR'], ...rows]);
      printAnswer(options, { teamID: teamId, users }, table);
    });

  addCommand(group, 'role <team> <email>', 'user role acme ann@example.com --role developer')
    .description('Change the role of a user.')
    .addOption(roleOption())
    .action(async (teamId: string, email: string, { role, ...options }: RoleOptions) => {
      await withUsers(teamId, (users) => users.changeRole(teamId, email, role, byOperator(context.clock.now())));
      printAnswer(options, { teamID: teamId, email, role }, `${email} now has the role ${role} in ${teamId}.`);
    });

  addCommand(group, 'remove <team> <email>', 'user remove acme ann@example.com')
    .description('Remove a user and end all their sessions.')
    .action(async (teamId: string, email: string, options: CommandOptions) => {
      await withUsers(teamId, (users) => users.deleteUser(teamId, email, byOperator(context.clock.now())));
      printAnswer(options, { teamID: teamId, email, removed: true }, `Removed ${email} from ${teamId}.`);
    });
}

const roleOption = (): Option =>
  new Option('--role <role>', 'what the user may do').choices(ROLES).makeOptionMandatory();
