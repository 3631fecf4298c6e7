/** Where each tenant is, when Citus spreads the tenants of a database over several servers, and how one moves. */
import { Refusal, refuseCommand } from '../../errors.ts';
import type { Connection } from './connection/connection.ts';
import { buildPlacingScript, CONTROL } from './migrate.ts';

/** A server of the database: its address, `host:port`; whether new tenants are placed there; and how many there are. */
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
   * Moves a tenant to the worker with this address. Between workers, it is used meanwhile, and its writes wait at the
   * end. From the coordinator, its calls wait for all of the move. Resolves when the tenant is there. Throws
   * COMMAND_REFUSED for an unknown address, and with the reason if the move fails.
   */
  move(storeId: string, address: string): Promise<void>;
}

export const ADDRESS = `n.nodename || ':' || n.nodeport`;
/** All tables of a schema are on one server. */
export const PLACED = `pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace AND c.relname = 'ORDERS'
  JOIN pg_dist_shard d ON d.logicalrelid = c.oid JOIN pg_dist_placement p USING (shardid)`;
/** Tenants from before the extension was there are on the coordinator, whose group is 0. */
const GROUP = `coalesce((SELECT p.groupid FROM ${PLACED} WHERE s.nspname = t."STORE_ID"), 0)`;
const LIST = `SELECT ${ADDRESS}, n.shouldhaveshards, count(t.group)::int FROM pg_dist_node n
  LEFT JOIN (SELECT ${GROUP} AS group FROM ${CONTROL}."TENANTS" t) t ON t.group = n.groupid
  WHERE n.noderole = 'primary' GROUP BY n.nodeid ORDER BY n.groupid`;
const FIND = `SELECT ${ADDRESS}, n.groupid > 0 FROM pg_dist_node n JOIN ${CONTROL}."TENANTS" t ON n.groupid = ${GROUP}
  WHERE n.noderole = 'primary' AND t."STORE_ID" = ?`;
const LIST_PLACES = `SELECT ${ADDRESS}, array_remove(array_agg(s.nspname::text), NULL) FROM pg_dist_node n
  LEFT JOIN (${PLACED}) USING (groupid) WHERE n.noderole = 'primary' AND n.groupid > 0 GROUP BY n.nodeid ORDER BY n.groupid`;
/** Tables without a primary key are copied with logical replication too. */
const MOVE = `SELECT citus_schema_move(?::regnamespace, ?, ?::int, 'force_logical')`;

/** Whether the database has the extension Citus. */
export const hasCitus = async (connection: Connection): Promise<boolean> =>
  (await connection.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`)).length > 0;

/** Lists the workers, with the stores of the tenants on each. */
export const listPlaces = (connection: Connection): Promise<[address: string, storeIds: string[]][]> =>
  connection.query(LIST_PLACES);

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
  const find = async (storeId: string) => (await ask<[address: string, isPlaced: boolean]>(FIND, [storeId]))[0]!;
  return {
    listServers,
    findServer: async (storeId) => (await find(storeId))[0],
    async move(storeId, address) {
      const servers = (await listServers()).filter(({ takesTenants }) => takesTenants).map((one) => one.address);
      if (!servers.includes(address))
        throw refuseCommand(`There is no server '${address}'. Tenants can be on ${servers.join(', ')}.`);
      try {
        await using connection = await openOwn();
        const [, isPlaced] = await find(storeId);
        const schema = `"${storeId}"`;
        if (!isPlaced) await connection.runScript(buildPlacingScript(storeId));
        const [host, port] = [address.slice(0, address.lastIndexOf(':')), address.slice(address.lastIndexOf(':') + 1)];
        if ((await find(storeId))[0] !== address) await connection.query(MOVE, [schema, host, port]);
      } catch (fault) {
        if (fault instanceof Refusal) throw fault;
        throw refuseCommand(`The tenant was not moved: ${(fault as Error).message}`);
      }
    },
  };
}
