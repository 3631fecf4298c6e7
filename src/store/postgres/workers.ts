/**
 * The servers of the tenants with Citus: the place of each tenant, its moves, and the connections of a node. Calls go
 * to the tenant's server directly; the coordinator only has keys and counts. Every server passes a statement on to the
 * server that has the tenant, so an outdated place only costs time.
 */
import type { Clock, Timer } from '../../clock.ts';
import { Refusal, refuseCommand } from '../../errors.ts';
import { ConnectionLost, reasonOf, type Connection } from './connection/connection.ts';
import type { DatabaseServer, Placement } from '../../tenant/tenant-port.ts';
import type { ServerConnections } from './connection/server-connections.ts';
import { buildPlacingScript, CONTROL } from './migrate.ts';

const ADDRESS = `n.nodename || ':' || n.nodeport`;
/** All tables of a schema are on one server. */
const PLACED = `pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace AND c.relname = 'ORDERS'
  JOIN pg_dist_shard d ON d.logicalrelid = c.oid JOIN pg_dist_placement p USING (shardid)`;
/** Tenants created before the extension are on the coordinator, whose group is 0. */
const GROUP = `coalesce((SELECT p.groupid FROM ${PLACED} WHERE s.nspname = t."STORE_ID"), 0)`;
const LIST_SERVERS = `SELECT ${ADDRESS}, n.shouldhaveshards, count(t.group)::int FROM pg_dist_node n
  LEFT JOIN (SELECT ${GROUP} AS group FROM ${CONTROL}."TENANTS" t) t ON t.group = n.groupid
  WHERE n.noderole = 'primary' GROUP BY n.nodeid ORDER BY n.groupid`;
const FIND_SERVER = `SELECT ${ADDRESS}, n.groupid > 0 FROM pg_dist_node n JOIN ${CONTROL}."TENANTS" t ON n.groupid = ${GROUP}
  WHERE n.noderole = 'primary' AND t."STORE_ID" = ?`;
const LIST_PLACES = `SELECT ${ADDRESS}, array_remove(array_agg(s.nspname::text), NULL) FROM pg_dist_node n
  LEFT JOIN (${PLACED}) USING (groupid) WHERE n.noderole = 'primary' AND n.groupid > 0 GROUP BY n.nodeid ORDER BY n.groupid`;
/** Copies tables with logical replication, even those without a primary key. */
const MOVE_TENANT = `SELECT citus_schema_move(?::regnamespace, ?, ?::int, 'force_logical')`;

/** Returns whether the database has the extension Citus. */
export const hasCitus = async (connection: Connection): Promise<boolean> =>
  (await connection.query(`SELECT 1 FROM pg_extension WHERE extname = 'citus'`)).length > 0;

/** Lists the workers, with the stores of the tenants on each. */
export const listPlaces = (connection: Connection): Promise<[address: string, storeIds: string[]][]> =>
  connection.query(LIST_PLACES);

export function makePlacement(openOwn: () => Promise<Connection>): Placement {
  const askCoordinator = async <R extends unknown[]>(sql: string, values: string[] = []): Promise<R[]> => {
    await using connection = await openOwn();
    return connection.query<R>(sql, values);
  };
  const listServers = async (): Promise<DatabaseServer[]> =>
    (await askCoordinator<[string, boolean, number]>(LIST_SERVERS)).map(([address, takesTenants, tenants]) => ({
      address,
      takesTenants,
      tenants,
    }));
  const findPlace = async (storeId: string) =>
    (await askCoordinator<[address: string, isPlaced: boolean]>(FIND_SERVER, [storeId]))[0]!;
  return {
    listServers,
    findServer: async (storeId) => (await findPlace(storeId))[0],
    async move(storeId, address) {
      const servers = (await listServers()).filter(({ takesTenants }) => takesTenants).map((one) => one.address);
      if (!servers.includes(address))
        throw refuseCommand(`There is no server '${address}'. Tenants can be on ${servers.join(', ')}.`);
      try {
        await using connection = await openOwn();
        const [, isPlaced] = await findPlace(storeId);
        if (!isPlaced) await connection.runStatements(buildPlacingScript(storeId));
        const [, host, port] = /(.+):(.+)/.exec(address)!;
        if ((await findPlace(storeId))[0] !== address)
          await connection.query(MOVE_TENANT, [`"${storeId}"`, host!, port!]);
      } catch (fault) {
        throw fault instanceof Refusal ? fault : refuseCommand(`The tenant was not moved: ${reasonOf(fault)}`);
      }
    },
  };
}

interface WorkersOptions {
  readonly coordinator: ServerConnections;
  /** Connects to the server with this address. Once lost, it is used again when `confirm` resolves. */
  readonly connect: (address: string, confirm: () => Promise<void>) => ServerConnections;
  /** Lists the stores of the tenants in use. */
  readonly listTenants: () => readonly string[];
  readonly onPlaced: (storeId: string, server: ServerConnections) => void;
  readonly report: (event: string) => void;
  readonly clock: Clock;
}

/** Time between two searches for the places of tenants. */
const LOOK_MS = 2000;
/** Condition for a server that knows the tables of all servers and was not replaced. */
const USABLE = `n.noderole = 'primary' AND n.isactive AND n.metadatasynced`;
const FIND_PLACES = `SELECT s.nspname, ${ADDRESS} FROM ${PLACED} JOIN pg_dist_node n USING (groupid)
  WHERE ${USABLE} AND n.groupid > 0 AND s.nspname = ANY (?::text[])`;
const CONFIRM = `SELECT 1 FROM pg_dist_node n WHERE ${USABLE} AND ${ADDRESS} = ?`;

export function makeWorkers({ coordinator, connect, listTenants, onPlaced, report, clock }: WorkersOptions) {
  const servers = new Map<string, Promise<ServerConnections>>();
  const connected = new Set<ServerConnections>();
  /** Servers that this node cannot reach. Their tenants are reached through the coordinator. */
  const unreachable = new Set<string>();
  let next: Timer | undefined;
  let isClosed = false;
  /** Returns the connections to a server, or to the coordinator if this node cannot reach it. */
  const reachServer = async (address: string): Promise<ServerConnections> => {
    const server = connect(address, async () => {
      const found = await coordinator.readers[0]!.askRows(CONFIRM, [address]);
      if (found.length === 0) throw new ConnectionLost('it is no longer a server of the database');
    });
    try {
      await server.readers[0]!.askRows('SELECT 1', []);
      unreachable.delete(address);
      connected.add(server);
      return server;
    } catch (fault) {
      await server.close();
      if (!unreachable.has(address))
        report(
          `The server ${address} is used through the coordinator, because it cannot be reached: ${reasonOf(fault)}.`,
        );
      unreachable.add(address);
      return coordinator;
    }
  };
  const serverAt = (address: string): Promise<ServerConnections> => {
    const server = servers.getOrInsertComputed(address, () => reachServer(address));
    // Tries to connect again next time.
    void server.then((found) => found === coordinator && servers.delete(address));
    return server;
  };
  /** Finds the servers of these tenants. If the coordinator does not respond, keeps the known places. */
  const place = async (storeIds: readonly string[]): Promise<void> => {
    const places = await coordinator.readers[0]!.askRows<[string, string]>(FIND_PLACES, [storeIds]).catch(
      () => undefined,
    );
    if (!places) return;
    const addresses = new Map(places);
    const found = new Map<string | undefined, ServerConnections>([[undefined, coordinator]]);
    await Promise.all(
      new Set(addresses.values()).values().map(async (address) => found.set(address, await serverAt(address))),
    );
    for (const storeId of storeIds) onPlaced(storeId, found.get(addresses.get(storeId))!);
  };
  const lookLater = () => {
    const look = () => place(listTenants()).then(lookLater);
    if (!isClosed) next = clock.after(LOOK_MS, () => void look());
  };
  lookLater();
  return {
    place,
    listConnected: (): readonly ServerConnections[] => [...connected],
    async close() {
      isClosed = true;
      next?.close();
      await Promise.all(servers.values());
      await Promise.all([...connected].map((server) => server.close()));
    },
  };
}
