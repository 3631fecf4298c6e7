/** Where each tenant is, when Citus spreads the tenants of a database over several servers, and how one moves. */
import { Refusal, refuseCommand } from '../../errors.ts';
import type { Connection } from './connection/connection.ts';

/** A server of the database: its address, `host:port`; whether tenants can be placed there; and how many there are. */
interface DatabaseServer {
  readonly address: string;
  readonly takesTenants: boolean;
  readonly tenants: number;
}

export interface Placement {
  listServers(): Promise<DatabaseServer[]>;
  /** Returns the address of the server that has a tenant. */
  findServer(storeId: string): Promise<string>;
  /**
   * Moves a tenant to the server with this address while it is used. Its writes wait at the end of the move. Resolves
   * when the tenant is there. Throws COMMAND_REFUSED for an unknown address, and with the reason if the move fails,
   * which changes nothing.
   */
  move(storeId: string, address: string): Promise<void>;
}

const ADDRESS = `n.nodename || ':' || n.nodeport`;
/** All tables of a schema are on one server. */
const PLACED = `pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace AND c.relname = 'ORDERS'
  JOIN pg_dist_shard d ON d.logicalrelid = c.oid JOIN pg_dist_placement p USING (shardid)`;
const LIST = `SELECT ${ADDRESS}, n.shouldhaveshards, count(s.oid)::int FROM pg_dist_node n LEFT JOIN (${PLACED}) USING (groupid)
  WHERE n.noderole = 'primary' GROUP BY n.nodeid ORDER BY n.groupid`;
/** Tenants from before the extension was there are on the coordinator, whose group is 0. */
const FIND = `SELECT ${ADDRESS} FROM pg_dist_node n WHERE n.noderole = 'primary'
  AND n.groupid = coalesce((SELECT p.groupid FROM ${PLACED} WHERE s.nspname = ?), 0)`;
/** Tables without a primary key are copied with logical replication too. */
const MOVE = `SELECT citus_schema_move(?::regnamespace, ?, ?::int, 'force_logical')`;

/** Whether the database has the extension Citus. */
export const hasCitus = async (connection: Connection): Promise<boolean> =>
  (await connection.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`)).length > 0;

export function makePlacement(openOwn: () => Promise<Connection>): Placement {
  const ask = async <R extends unknown[]>(sql: string, values: string[] = []): Promise<R[]> => {
    await using connection = await openOwn();
    return connection.query<R>(sql, values);
  };
  const listServers = async (): Promise<DatabaseServer[]> =>
    (await ask<[string, boolean, number]>(LIST)).map(([address, takesTenants, tenants]) => ({
      address,
      takesTenants,
      tenants,
    }));
  return {
    listServers,
    async findServer(storeId) {
      return (await ask<[string]>(FIND, [storeId]))[0]![0];
    },
    async move(storeId, address) {
      const servers = (await listServers()).filter(({ takesTenants }) => takesTenants).map((one) => one.address);
      if (!servers.includes(address))
        throw refuseCommand(`There is no server '${address}'. Tenants can be on ${servers.join(', ')}.`);
      const [host, port] = [address.slice(0, address.lastIndexOf(':')), address.slice(address.lastIndexOf(':') + 1)];
      await ask(MOVE, [`"${storeId}"`, host, port]).catch((fault: Error) => {
        if (fault instanceof Refusal) throw fault;
        throw refuseCommand(`The tenant was not moved: ${fault.message}`);
      });
    },
  };
}
