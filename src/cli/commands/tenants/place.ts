/** `storeroom tenant place`, `tenant move` and `database list`: the servers over which Citus spreads the tenants. */
import type { Command } from 'commander';
import { byCommand } from '../../../audit/entry.ts';
import { refuseCommand } from '../../../errors.ts';
import type { Store } from '../../../store/open.ts';
import { addCommand, addGroup, printAnswer, timeOf, type CommandContext } from '../../command.ts';
import { withStore, withTenant } from '../../open-store.ts';
import { buildTable } from '../../text-table.ts';

export function addDatabaseCommands(program: Command, context: CommandContext): void {
  const group = addGroup(program, 'database', 'database list', 'Show the servers of a database with Citus.');
  const description = 'List the servers of the database, with the number of tenants on each.';
  addCommand(group, 'list', 'database list --json', description).action(async () => {
    const servers = await withStore(context, (store) => placementOf(store).listServers());
    const rows = servers.map(({ address, takesTenants, tenants }) => [
      address,
      takesTenants ? 'yes' : 'no',
      `${tenants}`,
    ]);
    printAnswer(context, { servers }, buildTable([['SERVER', 'TAKES TENANTS', 'TENANTS'], ...rows]));
  });
}

export function addPlaceCommands(group: Command, context: CommandContext): void {
  addCommand(group, 'place <team>', 'tenant place acme', 'Show which server of the database has a tenant.').action(
    async (teamId: string) => {
      const server = await withTenant(context, teamId, ({ store, tenant: { storeId } }) =>
        placementOf(store).findServer(storeId),
      );
      printAnswer(context, { teamID: teamId, server }, `${teamId} is on ${server}.`);
    },
  );
  const description = 'Move a tenant to another server of the database, while it is used.';
  addCommand(group, 'move <team>', 'tenant move acme --to 10.0.0.12:5432', description)
    .requiredOption('--to <server>', 'the server, host:port, as `storeroom database list` shows it')
    .action(async (teamId: string, { to }: { to: string }) => {
      const from = await withTenant(context, teamId, async ({ store, tenant: { storeId } }) => {
        const placement = placementOf(store);
        const before = await placement.findServer(storeId);
        if (before === to) return before;
        await placement.move(storeId, to);
        await store.audit.appendAudit(teamId, byCommand(timeOf(context.clock), 'tenant moved', teamId, { to }));
        return before;
      });
      const text = from === to ? `${teamId} is on ${to} already.` : `Moved ${teamId} from ${from} to ${to}.`;
      printAnswer(context, { teamID: teamId, from, to }, text);
    });
}

function placementOf({ placement }: Store) {
  if (placement) return placement;
  throw refuseCommand('All tenants are on one server. docs/several-servers.md says how to spread them with Citus.');
}
