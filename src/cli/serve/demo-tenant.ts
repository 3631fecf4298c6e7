/** Creates the demo tenant from the files in demo/, with keys, so that the first start has something to show. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inviteUser } from '../../account/users.ts';
import { readAsset } from '../../assets.ts';
import { byOperator, entryBy } from '../../audit/audit.ts';
import { orThrow } from '../../errors.ts';
import type { Store } from '../../store/open-store.ts';
import { replacePair } from '../../tenant/issued-pairs.ts';
import { importCsv } from '../csv/csv-import.ts';

const DEMO_TEAM = 'demo';
/** No mail is sent to this address. */
export const DEMO_OWNER = 'owner@example.com';
const FOLDERS = ['northwind', 'dealer'];
/**
 * Lines need their orders. Lines also change stock and dates of parts, so parts are imported last, with final values.
 */
const RECORD_TYPES_IN_ORDER = ['customers', 'orders', 'lines', 'inventory'] as const;

/**
 * Returns the marker file. It exists until the keys of the demo tenant are printed, so that the start after an
 * interrupted one creates the tenant again.
 */
const markerOf = (folder: string) => join(folder, 'demo-unfinished');

export interface Demo {
  readonly keys: Readonly<Record<'teamID' | 'apiID' | 'apiSecret', string>>;
  /** Token of the one-time link that sets the owner's password. */
  readonly linkToken: string;
}

/** Creates the tenant `demo` in a store without tenants. Call `finishDemo` when the keys are printed. */
export async function makeFirstDemo(store: Store, folder: string, now: string): Promise<Demo | undefined> {
  if (existsSync(markerOf(folder))) {
    const unfinished = await store.tenants.findTenant(DEMO_TEAM);
    if (unfinished) await store.tenants.deleteTenant(unfinished);
    finishDemo(folder);
  }
  if (await store.tenants.hasTenants()) return undefined;
  writeFileSync(markerOf(folder), '');
  return createDemo(store, now);
}

/** Removes the marker file, and returns the memory that the import took, because the service is most often idle now. */
export function finishDemo(folder: string): void {
  rmSync(markerOf(folder), { force: true });
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** Creates the tenant `demo`. Throws if it exists, or if a row is rejected. */
export async function createDemo(store: Store, now: string): Promise<Demo> {
  const actor = byOperator(Date.parse(now));
  const made = entryBy(actor, 'tenant created', DEMO_TEAM, { name: 'Demo', records: FOLDERS.join(', ') });
  const tenant = orThrow(await store.tenants.createTenant(DEMO_TEAM, 'Demo', now, made));
  const pims = store.pims(tenant);
  for (const folder of FOLDERS)
    for (const recordType of RECORD_TYPES_IN_ORDER) {
      const file = `demo/${folder}/${recordType}.csv`;
      const content = readAsset(file);
      const { rejections } = await importCsv(pims, { recordType, file, content, now });
      if (rejections[0]) throw new Error(`${file}, row ${rejections[0].row}: ${rejections[0].reason}`);
    }
  const { pair } = await replacePair(store.tenants, DEMO_TEAM, undefined, 'none', actor);
  const asked = { email: DEMO_OWNER, role: 'owner' } as const;
  const { token } = await inviteUser({ users: store.users, teamId: DEMO_TEAM, actor }, asked);
  return { keys: pair, linkToken: token };
}
