/**
 * The demo tenant: makes it, fills it from the files of demo/ and issues its keys, so that there is something to look at after the first start.
 * Never touches another tenant.
 */
import { fileURLToPath } from 'node:url';
import { Refusal } from '../errors.ts';
import type { SqliteStore } from '../store/sqlite/open-sqlite.ts';
import { issueKey, type IssuedKey } from '../tenant/credentials.ts';
import { importFile } from './import-file.ts';

export const DEMO_TEAM = 'demo';
const FOLDERS = ['northwind', 'dealer'];
/** Orders come before their lines. Parts come last, so that they keep their dates: what is committed of them is counted then. */
const RECORD_TYPES_IN_ORDER = ['customers', 'orders', 'lines', 'inventory'] as const;

/** Makes the tenant `demo`. Throws when there is one already, or when a row is rejected. */
export async function createDemo(store: SqliteStore, now: string): Promise<IssuedKey> {
  const tenant = await store.tenants.createTenant(DEMO_TEAM, 'Demo', now);
  if (tenant instanceof Refusal) throw tenant;
  const pims = store.pims(tenant);
  for (const folder of FOLDERS)
    for (const recordType of RECORD_TYPES_IN_ORDER) {
      const file = fileURLToPath(new URL(`../../demo/${folder}/${recordType}.csv`, import.meta.url));
      const { rejections } = await importFile(pims, { recordType, file, now, atomic: true });
      if (rejections[0]) throw new Error(`${file}, line ${rejections[0].line}: ${rejections[0].reason}`);
    }
  const key = issueKey();
  await store.tenants.replaceKeys(DEMO_TEAM, key, now, now);
  return key;
}
