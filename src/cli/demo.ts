/**
 * The demo tenant: makes it, fills it from the files of demo/ and issues its keys, so that there is something to look at after the first start.
 * Never touches another tenant.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Users } from '../account/users.ts';
import { Refusal } from '../errors.ts';
import type { Store } from '../store/open.ts';
import { byCommand, COMMAND_LINE } from '../audit/entry.ts';
import { issueKey, type IssuedKey } from '../tenant/credentials.ts';
import { importFile } from './import-file.ts';

export const DEMO_TEAM = 'demo';
/** Sends and gets no mail; the address is only a name. */
export const DEMO_OWNER = 'owner@example.com';
const FOLDERS = ['northwind', 'dealer'];
/** Orders come before their lines. Parts come last, so that they keep their dates: what is committed of them is counted then. */
const RECORD_TYPES_IN_ORDER = ['customers', 'orders', 'lines', 'inventory'] as const;

/** Stands in the data folder from before the demo tenant is made until its keys have been told, so that a first start cut short is made good. */
const markerOf = (folder: string): string => join(folder, 'demo-unfinished');

export interface Demo {
  readonly key: IssuedKey;
  /** Of the link with which its owner sets a password. */
  readonly linkToken: string;
}

/** Makes the tenant `demo` where there is no other; undefined when there is nothing to make. `finishDemo` has to follow once the keys are told. */
export async function makeFirstDemo(store: Store, folder: string, now: string): Promise<Demo | undefined> {
  if (existsSync(markerOf(folder))) {
    const unfinished = await store.tenants.findTenant(DEMO_TEAM);
    if (unfinished) await store.tenants.deleteTenant(unfinished);
    finishDemo(folder);
  }
  if ((await store.tenants.listTenants()).length > 0) return undefined;
  writeFileSync(markerOf(folder), '');
  return createDemo(store, now);
}

export const finishDemo = (folder: string): void => rmSync(markerOf(folder), { force: true });

/** Makes the tenant `demo`. Throws when there is one already, or when a row is rejected. */
export async function createDemo(store: Store, now: string): Promise<Demo> {
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
  await store.tenants.replaceKeys(DEMO_TEAM, key, now, byCommand(now, 'keys replaced', key.apiId, { overlap: 'none' }));
  const owner = await new Users(store.users).inviteUser(DEMO_TEAM, DEMO_OWNER, 'owner', {
    nowMs: Date.parse(now),
    actor: COMMAND_LINE,
    client: '',
  });
  return { key, linkToken: owner.token };
}
