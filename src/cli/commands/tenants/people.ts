/**
 * `storeroom user …` and `audit …`: manages the users of a tenant's dashboard, prints the one-time links that set their
 * passwords, and prints the audit log and checks that it is complete and unchanged.
 */
import { Option, type Command } from 'commander';
import { ROLES, type Role } from '../../../account/roles.ts';
import {
  changeRole,
  deleteUser,
  inviteUser,
  renewLink,
  signOutUser,
  viewUser,
  type IssuedLink,
} from '../../../account/users.ts';
import type { AuditStore, AuditRecord } from '../../../audit/audit.ts';
import { verifyAudit } from '../../../audit/chain.ts';
import { parseConfig } from '../../../config.ts';
import type { Store } from '../../../store/open-store.ts';
import { addGroup, buildTable, byOperator, parseForm, type AddCommands, type CommandContext } from '../../command.ts';
import { addTenantCommand, type TenantAnswer } from '../../open-store.ts';
import { findOrigin, formatLink } from '../../service-address.ts';

export const addUserCommands: AddCommands = (program, context) => {
  const description = 'Create, list, change and remove users of the dashboard.';
  const group = addGroup(program, 'user', 'user create acme ann@example.com --role owner', description);
  const operator = () => byOperator(context.clock.now());
  /** Issues a link and returns it for printing, with the public address or the last address of the service. */
  const tellLink = async (store: Store, email: string, issue: () => Promise<IssuedLink>): Promise<TenantAnswer> => {
    const { config } = parseConfig(context.environment);
    const kept = config.publicUrl || (await store.installation.load('origin'));
    const { token, endsAt } = await issue();
    const link = formatLink(kept ?? findOrigin(config), token);
    const text = `This link sets the password of ${email}. It works once, until ${endsAt}, and is not shown again.`;
    return [{ email, link, endsAt }, `${link}\n\n${text}`];
  };

  const creating = 'Create a user and print the one-time link that sets a password.';
  addTenantCommand(
    group,
    context,
    'create <team> <email>',
    'user create acme ann@example.com --role owner',
    creating,
    ({ store, teamId }, email: string, { role }: { role: Role }) =>
      tellLink(store, email, () => inviteUser(store.users, teamId, email, role, operator())),
  ).addOption(roleOption());

  const linking =
    'Print a new one-time link for a user. When it is used, it sets a new password, turns off two-step verification and ' +
    'ends all sessions. Until then, the old password and the sessions keep working.';
  addTenantCommand(
    group,
    context,
    'link <team> <email>',
    'user link acme ann@example.com',
    linking,
    ({ store, teamId }, email: string) =>
      tellLink(store, email, () => renewLink(store.users, teamId, email, operator())),
  );

  const listing = 'List the users of a tenant.';
  addTenantCommand(group, context, 'list <team>', 'user list acme', listing, async ({ store, teamId }) => {
    const users = (await store.users.listUsers(teamId)).map(viewUser);
    const rows = users.map(({ email, role, createdAt, hasPassword, hasSecondFactor }) => {
      return [email, role, createdAt.slice(0, 10), hasPassword ? 'set' : 'not yet', hasSecondFactor ? 'on' : 'off'];
    });
    return [{ users }, buildTable([['EMAIL', 'ROLE', 'MADE', 'PASSWORD', 'TWO-STEP VERIFICATION'], ...rows])];
  });

  addTenantCommand(
    group,
    context,
    'role <team> <email>',
    'user role acme ann@example.com --role developer',
    'Change the role of a user.',
    async ({ store, teamId }, email: string, { role }: { role: Role }) => {
      await changeRole(store.users, teamId, email, role, operator());
      return [{ email, role }, `${email} now has the role ${role} in ${teamId}.`];
    },
  ).addOption(roleOption());

  const ending = 'End all sessions of a user, for example after a theft. The password keeps working.';
  addEnding(group, context, 'sign-out', ending, signOutUser, 'signedOut', 'Ended all sessions of');
  addEnding(group, context, 'remove', 'Remove a user and end all their sessions.', deleteUser, 'removed', 'Removed');
};

const addEnding = (
  group: Command,
  context: CommandContext,
  name: string,
  description: string,
  end: typeof deleteUser,
  member: string,
  done: string,
): Command =>
  addTenantCommand(
    group,
    context,
    `${name} <team> <email>`,
    `user ${name} acme ann@example.com`,
    description,
    async ({ store, teamId }, email: string) => {
      await end(store.users, teamId, email, byOperator(context.clock.now()));
      return [{ email, [member]: true }, `${done} ${email} of ${teamId}.`];
    },
  );

const roleOption = () => new Option('--role <role>', 'what the user may do').choices(ROLES).makeOptionMandatory();

const AUDIT_PAGE = 1000;
const AUDIT_COLUMNS = ['number', 'at', 'actor', 'action', 'target', 'client'] as const;

export const addAuditCommands: AddCommands = (program, context) => {
  const group = addGroup(program, 'audit', 'audit verify acme', 'Print and verify the audit log.');
  const listing = 'Print the audit log, oldest first.';
  addTenantCommand(group, context, 'list <team>', 'audit list acme --json', listing, async ({ store, teamId }) => {
    const records = await loadRecords(store.audit, teamId);
    const rows = records.map((record) => AUDIT_COLUMNS.map((name) => record[name]));
    return [{ records }, buildTable([AUDIT_COLUMNS.map((name) => name.toUpperCase()), ...rows])];
  });
  const verifying = 'Check that no record of the audit log was changed, removed or added. Exits with 1 if one was.';
  addTenantCommand(
    group,
    context,
    'verify <team>',
    'audit verify acme',
    verifying,
    async ({ store, teamId }, { head: kept }: { head?: string }) => {
      const checked = await verifyAudit(store.audit, teamId, { kept });
      const { records, head, fault } = checked;
      if (fault) context.exitCode = 1;
      const last = head && ` The hash of the last one is ${head}. Keep it elsewhere to check the log later.`;
      const text = fault
        ? `The audit log of ${teamId} is NOT intact. Record ${fault.number}: ${fault.reason}.`
        : `The audit log of ${teamId} is intact: ${records} records.${last}`;
      return [{ isWhole: fault === null, ...checked }, text];
    },
  ).option(
    '--head <hash>',
    'hash that an earlier check printed: also check that its record is still there',
    parseForm(/^[0-9a-f]{64}$/, 'be 64 hexadecimal digits in lowercase'),
  );
};

async function loadRecords(store: AuditStore, teamId: string): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  for (;;) {
    const page = await store.loadAuditFrom(teamId, records.length + 1, AUDIT_PAGE);
    records.push(...page);
    if (page.length < AUDIT_PAGE) return records;
  }
}
