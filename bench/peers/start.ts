/**
 * Starts the peers of a run, each on a copy of the same tables. A run continues without a peer that does not start.
 */
import type { StoreName } from '../options.ts';
import type { Places } from '../places.ts';
import { exportRecords } from '../seed.ts';
import { THIS_CHECKOUT } from '../servers.ts';
import type { Side } from '../side.ts';
import { startFeathers } from './feathers.ts';
import { installPeer } from './install.ts';
import type { PeerName } from './names.ts';
import type { PeerPlace, StartedPeer } from './peer.ts';
import { startPlatformatic } from './platformatic.ts';
import { fillTables } from './tables.ts';

const TITLES: Readonly<Record<PeerName, string>> = { platformatic: 'Platformatic DB', feathers: 'Feathers' };
const STARTS: Readonly<Record<PeerName, (at: PeerPlace) => Promise<StartedPeer>>> = {
  platformatic: startPlatformatic,
  feathers: startFeathers,
};

export interface PeerSide extends Side {
  readonly version: string;
}

export async function startPeers(
  names: readonly PeerName[],
  store: StoreName,
  places: Places,
  seeded: string,
): Promise<PeerSide[]> {
  if (names.length === 0) return [];
  const { files } = await exportRecords({ place: seeded, checkout: THIS_CHECKOUT });
  const plain = await places.make();
  await fillTables(store, plain, files);
  const sides: PeerSide[] = [];
  for (const name of names)
    try {
      const installed = installPeer(name);
      const place = await places.copy(plain, name);
      const { server, dialect } = await STARTS[name]({ store, place, installed });
      const databaseUrl = store === 'postgres' ? place : undefined;
      sides.push({ name: TITLES[name], version: installed.version, server, dialect, databaseUrl });
    } catch (fault) {
      console.log(`Without ${TITLES[name]}: ${(fault as Error).message}`);
    }
  return sides;
}
