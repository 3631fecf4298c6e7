/** `storeroom tenant place`, `tenant move` and `database list`: the servers over which Citus spreads the tenants. */
import { byCommand } from '../../../audit/entry.ts';
import { refuseCommand } from '../../../errors.ts';
import type { Store } from '../../../store/open.ts';
import { addCommand, addGroup, printAnswer, timeOf, type AddCommands } from '../../command.ts';
import { addTenantCommand, withStore } from '../../open-store.ts';
import { buildTable } from '../../terminal.ts';

export const addDatabaseCommands: AddCommands = (program, context) => {
  const group = addGroup(program, 'database', 'database list', 'Show the servers of a database with Citus.');
  const description = 'List the servers of the database, with the number of tenants on each.';
  addCommand(group, 'list', 'database list --json', description).action(async () => {
    const servers = await withStore(context, (store) => placementOf(store).listServers());
    const rows = servers.map(({ address, takesTenants, tenants }) => [address, takesTenants ? 'yes' : 'no', tenants]);
    printAnswer(context, { servers }, buildTable([['SERVER', 'TAKES TENANTS', 'TENANTS'], ...rows]));
  });
};

export const addPlaceCommands: AddCommands = (group, context) => {
  const showing = 'Show which server of the database has a tenant.';
  addTenantCommand(group, context, 'place <team>', 'tenant place acme', showing, async ({ store, teamId, tenant }) => {
    const server = await placementOf(store).findServer(tenant.storeId);
    return [{ server }, `${teamId} is on ${server}.`];
  });
  const description = 'Move a tenant to another server of the database, while it is used.';
  addTenantCommand(
    group,
    context,
    'move <team>',
    'tenant move acme --to 10.0.0.12:5432',
    description,
    async ({ store, teamId, tenant: { storeId } }, { to }: { to: string }) => {
      const placement = placementOf(store);
      const from = await placement.findServer(storeId);
      if (from === to) return [{ from, to }, `${teamId} is on ${to} already.`];
      await placement.move(storeId, to);
      await store.audit.appendAudit(teamId, byCommand(timeOf(context.clock), 'tenant moved', teamId, { to }));
      return [{ from, to }, `Moved ${teamId} from ${from} to ${to}.`];
    },
  ).requiredOption('--to <server>', 'the server, host:port, as `storeroom database list` shows it');
};

function placementOf({ placement }: Store) {
  if (placement) return placement;
  throw refuseCommand('All tenants are on one server. docs/several-servers.md says how to spread them with Citus.');
}
