/**
 * Begin here: starts the peers that Storeroom is compared with, each on a copy of the same tables. A run continues
 * without a peer that does not start.
 */
import { join } from 'node:path';
import { exportRecords } from '../records/seed.ts';
import type { Places, StoreName } from '../sides/places.ts';
import { THIS_CHECKOUT } from '../sides/servers.ts';
import type { Side } from '../sides/side.ts';
import { FEATHERS } from './feathers.ts';
import { installPeer } from './install.ts';
import type { Peer } from './peer.ts';
import { PLATFORMATIC } from './platformatic.ts';
import { fillTables, PLAIN_FILE } from './tables.ts';

const PEERS = { platformatic: PLATFORMATIC, feathers: FEATHERS };
export type PeerName = keyof typeof PEERS;
export const PEER_NAMES = Object.keys(PEERS) as PeerName[];

export async function startPeers(
  names: readonly PeerName[],
  store: StoreName,
  places: Places,
  seeded: string,
): Promise<(Side & { readonly version: string })[]> {
  if (names.length === 0) return [];
  const { files } = await exportRecords({ place: seeded, checkout: THIS_CHECKOUT });
  const plain = await places.make();
  await fillTables(store, plain, files);
  const sides = [];
  for (const name of names) {
    const { title, packages, start, dialectOf }: Peer = PEERS[name];
    try {
      const installed = installPeer(name, packages);
      const place = await places.copy(plain, name);
      const databaseUrl = store === 'postgres' ? place : undefined;
      const server = await start(installed, databaseUrl ?? join(place, PLAIN_FILE));
      const dialect = dialectOf(store === 'postgres' ? 'ilike' : 'like');
      sides.push({ name: title, version: installed.version, server, dialect, databaseUrl });
    } catch (fault) {
      console.log(`Without ${title}: ${(fault as Error).message}`);
    }
  }
  return sides;
}
