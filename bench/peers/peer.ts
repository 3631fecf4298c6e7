/**
 * The parts that all peers share: free ports, waiting for the first answer, and renamed fields.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreName } from '../options.ts';
import type { Server } from '../servers.ts';
import type { Dialect, Values } from '../side.ts';
import type { InstalledPeer } from './install.ts';

const READY_MS = 120_000;
const POLL_MS = 100;
/** Line number of an added line. A peer has no rules that would number it. */
export const ADDED_LINE_NUMBER = '4';

export interface PeerPlace {
  readonly store: StoreName;
  /** The folder of its SQLite file, or the URL of its database. */
  readonly place: string;
  readonly installed: InstalledPeer;
}

export interface StartedPeer {
  readonly server: Server;
  readonly dialect: Dialect;
}

export async function findFreePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  return port;
}

/** Resolves to the address when a path there is answered with success. */
export async function waitForAnswer(
  port: number,
  path: string,
  headers: Values,
  hasEnded: () => boolean,
): Promise<string> {
  const origin = `http://127.0.0.1:${port}`;
  for (const until = Date.now() + READY_MS; Date.now() < until && !hasEnded(); await sleep(POLL_MS)) {
    const answer = await fetch(origin + path, { headers }).catch(() => undefined);
    if (answer?.ok) return origin;
  }
  throw new Error(`${origin}${path} is not answered.`);
}

/** Values by other names; empty ones are left out. */
export const rename = (values: Values, nameOf: (name: string) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [nameOf(name), value]));
