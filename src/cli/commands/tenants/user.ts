/**
 * `storeroom user …`: manages the users of a tenant's dashboard, and prints the one-time links that set their
 * passwords.
 */
import { Option, type Command } from 'commander';
import type { UserName, UserStore } from '../../../account/account-port.ts';
import { ROLES, type Role } from '../../../account/roles.ts';
import { changeRole, deleteUser, inviteUser, renewLink, type IssuedLink } from '../../../account/users.ts';
import { parseConfig } from '../../../config.ts';
import { addCommand, addGroup, byOperator, printAnswer, type CommandContext } from '../../command.ts';
import { withTenant } from '../../open-store.ts';
import { findOrigin, formatLink } from '../../service-address.ts';
import { buildTable } from '../../text-table.ts';

export function addUserCommands(program: Command, context: CommandContext): void {
  const description = 'Create, list, change and remove users of the dashboard.';
  const group = addGroup(program, 'user', 'user create acme ann@example.com --role owner', description);
  const operator = () => byOperator(context.clock.now());
  const withUsers = <T>(teamId: string, work: (users: UserStore) => Promise<T>): Promise<T> =>
    withTenant(context, teamId, ({ store }) => work(store.users));
  /** Runs `issue` and prints its link, with the last address of the service. */
  const printLink = async (
    { teamId, email }: UserName,
    issue: (users: UserStore) => Promise<IssuedLink>,
  ): Promise<void> => {
    const { config } = parseConfig(context.environment, {});
    const [origin, { token, endsAt }] = await withTenant(context, teamId, async ({ store }) => {
      const kept = config.publicUrl || (await store.installation.load('origin'));
      return [kept ?? findOrigin(config), await issue(store.users)] as const;
    });
    const link = formatLink(origin, token);
    const text = `This link sets the password of ${email}. It works once, until ${endsAt}, and is not shown again.`;
    printAnswer(context, { teamID: teamId, email, link, endsAt }, `${link}\n\n${text}`);
  };

  const creating = 'Create a user and print the one-time link that sets a password.';
  addCommand(group, 'create <team> <email>', 'user create acme ann@example.com --role owner', creating)
    .addOption(roleOption())
    .action((teamId: string, email: string, { role }: { role: Role }) =>
      printLink({ teamId, email }, (users) => inviteUser(users, teamId, email, role, operator())),
    );

  const linking = 'Print a new one-time link for a user. It sets a new password and turns off two-step verification.';
  addCommand(group, 'link <team> <email>', 'user link acme ann@example.com', linking).action(
    (teamId: string, email: string) =>
      printLink({ teamId, email }, (users) => renewLink(users, teamId, email, operator())),
  );

  addCommand(group, 'list <team>', 'user list acme', 'List the users of a tenant.').action(async (teamId: string) => {
    const found = await withUsers(teamId, (users) => users.listUsers(teamId));
    const users = found.map(({ email, role, createdAt, passwordHash, sealedSecret }) => {
      return { email, role, createdAt, hasPassword: passwordHash !== '', hasSecondFactor: sealedSecret !== null };
    });
    const rows = users.map(({ email, role, createdAt, hasPassword, hasSecondFactor }) => {
      return [email, role, createdAt.slice(0, 10), hasPassword ? 'set' : 'not yet', hasSecondFactor ? 'on' : 'off'];
    });
    const table = buildTable([['E-MAIL', 'ROLE', 'MADE', 'PASSWORD', 'TWO-STEP VERIFICATION'], ...rows]);
    printAnswer(context, { teamID: teamId, users }, table);
  });

  addCommand(
    group,
    'role <team> <email>',
    'user role acme ann@example.com --role developer',
    'Change the role of a user.',
  )
    .addOption(roleOption())
    .action(async (teamId: string, email: string, { role }: { role: Role }) => {
      await withUsers(teamId, (users) => changeRole(users, teamId, email, role, operator()));
      printAnswer(context, { teamID: teamId, email, role }, `${email} now has the role ${role} in ${teamId}.`);
    });

  const removing = 'Remove a user and end all their sessions.';
  addCommand(group, 'remove <team> <email>', 'user remove acme ann@example.com', removing).action(
    async (teamId: string, email: string) => {
      await withUsers(teamId, (users) => deleteUser(users, teamId, email, operator()));
      printAnswer(context, { teamID: teamId, email, removed: true }, `Removed ${email} from ${teamId}.`);
    },
  );
}

const roleOption = (): Option =>
  new Option('--role <role>', 'what the user may do').choices(ROLES).makeOptionMandatory();
