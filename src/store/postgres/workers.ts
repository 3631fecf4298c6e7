/**
 * With Citus, the connections of a node to the servers of its tenants. A tenant's calls go there past the coordinator,
 * which then only checks keys and counts. Every server passes a statement on to the server that has the tenant, so an
 * old place costs time alone.
 */
import type { Clock, Timer } from '../../clock.ts';
import { ConnectionLost, reasonOf } from './connection/connection.ts';
import type { ServerConnections } from './connection/server-connections.ts';
import { ADDRESS, PLACED } from './placement.ts';

interface WorkersOptions {
  readonly coordinator: ServerConnections;
  /** Connects to the server with this address. Once it is lost, it is used again when `confirm` resolves. */
  readonly connect: (address: string, confirm: () => Promise<void>) => ServerConnections;
  /** Lists the stores of the tenants in use. */
  readonly listTenants: () => readonly string[];
  readonly onPlaced: (storeId: string, server: ServerConnections) => void;
  readonly report: (event: string) => void;
  readonly clock: Clock;
}

/** Time between two looks at where the tenants are. */
const LOOK_MS = 2000;
/** The server knows the tables of all servers, and no other has replaced it. */
const USABLE = `n.noderole = 'primary' AND n.isactive AND n.metadatasynced`;
const FIND = `SELECT s.nspname, ${ADDRESS} FROM ${PLACED} JOIN pg_dist_node n USING (groupid)
  WHERE ${USABLE} AND n.groupid > 0 AND s.nspname = ANY (?::text[])`;
const CONFIRM = `SELECT 1 FROM pg_dist_node n WHERE ${USABLE} AND ${ADDRESS} = ?`;

export class Workers {
  readonly #options: WorkersOptions;
  readonly #servers = new Map<string, Promise<ServerConnections>>();
  readonly #connected = new Set<ServerConnections>();
  /** Servers that this node cannot reach. Their tenants are reached through the coordinator. */
  readonly #unreachable = new Set<string>();
  #next: Timer | undefined;
  #isClosed = false;

  constructor(options: WorkersOptions) {
    this.#options = options;
    this.#lookLater();
  }

  /** Lists the connections to workers. */
  list(): readonly ServerConnections[] {
    return [...this.#connected];
  }

  /** Finds the servers of these tenants. If the coordinator does not respond, the tenants stay where they are. */
  async place(storeIds: readonly string[]): Promise<void> {
    const { coordinator, onPlaced } = this.#options;
    const places = await coordinator.readers[0]!.ask<[string, string]>(FIND, [storeIds]).catch(() => undefined);
    if (!places) return;
    const addresses = new Map(places);
    const servers = new Map<string | undefined, ServerConnections>([[undefined, coordinator]]);
    await Promise.all(
      new Set(addresses.values()).values().map(async (address) => servers.set(address, await this.#serverAt(address))),
    );
    for (const storeId of storeIds) onPlaced(storeId, servers.get(addresses.get(storeId))!);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#next?.close();
    await Promise.all(this.#servers.values());
    await Promise.all(this.list().map((server) => server.close()));
  }

  #lookLater(): void {
    const look = () => this.place(this.#options.listTenants()).then(() => this.#lookLater());
    if (!this.#isClosed) this.#next = this.#options.clock.after(LOOK_MS, () => void look());
  }

  #serverAt(address: string): Promise<ServerConnections> {
    const server = this.#servers.getOrInsertComputed(address, () => this.#connect(address));
    // Tries to connect again next time.
    void server.then((found) => found === this.#options.coordinator && this.#servers.delete(address));
    return server;
  }

  /** Returns the connections to a server, or to the coordinator if this node cannot reach it. */
  async #connect(address: string): Promise<ServerConnections> {
    const { coordinator, connect, report } = this.#options;
    const server = connect(address, async () => {
      const found = await coordinator.readers[0]!.ask(CONFIRM, [address]);
      if (found.length === 0) throw new ConnectionLost('it is no longer a server of the database');
    });
    try {
      await server.readers[0]!.ask('SELECT 1', []);
      this.#unreachable.delete(address);
      this.#connected.add(server);
      return server;
    } catch (fault) {
      await server.close();
      if (!this.#unreachable.has(address))
        report(
          `The server ${address} is used through the coordinator, because it cannot be reached: ${reasonOf(fault)}.`,
        );
      this.#unreachable.add(address);
      return coordinator;
    }
  }
}
