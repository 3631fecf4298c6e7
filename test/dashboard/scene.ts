/**
 * Sets up services and tenants for the tests of the dashboard, runs SQL on a store beside its service, searches all
 * bytes of a store, and reads everything that an owner sees.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { zstdDecompressSync } from 'node:zlib';
import type { AuditRecord } from '../../src/audit/audit.ts';
import { pick, valuesOf } from '../kit/lists.ts';
import { stockShop } from '../kit/operations.ts';
import { runStatement } from '../kit/postgres.ts';
import { ownService, sharedService, type Keys, type Service } from '../kit/service.ts';
import { Visitor, type Reply } from './visitor.ts';

const SCHEMA = 'storeroom';
const BUSY_MS = 5000;
const OPENING_BRACKET = 0x5b;

/** The settings of a service behind a proxy on this machine, so that visitors can have different addresses. */
export const BEHIND_PROXY = { STOREROOM_TRUSTED_PROXIES: '127.0.0.1' };

/** Returns a service behind a proxy that all test files with the same settings share. */
export const openScene = (env: Record<string, string> = {}): Promise<Service> =>
  sharedService({ ...BEHIND_PROXY, ...env });

export interface OwnedTenant {
  readonly teamID: string;
  readonly keys: Keys;
  readonly owner: Visitor;
}

/** Starts a service for this file alone. Its date and time of day stand still until the test moves them. */
export const openStandingScene = (): Promise<Service> => ownService({ env: BEHIND_PROXY, dateStands: true });

let tenants = 0;

/** Makes another tenant, with keys from the command line and its owner signed in. */
export async function openTenant(service: Service, ...settings: string[]): Promise<OwnedTenant> {
  const teamID = `shop${++tenants}`;
  const keys = await service.makeTenant(teamID, ...settings);
  return { teamID, keys, owner: await Visitor.make(service, teamID, 'owner') };
}

/** Returns a service with a tenant that has records of every type, and the tenant's owner. */
export async function openStockedScene(): Promise<{ service: Service; owner: Visitor }> {
  const service = await openScene();
  await stockShop(service, 'shop');
  return { service, owner: await Visitor.make(service, 'shop', 'owner') };
}

export type File = 'control.db' | 'requests.db' | 'usage.db';

/** Runs a statement on the database, or with SQLite on this file. The statement writes a table as `@SESSIONS`. */
export async function runSql(
  service: Service,
  statement: string,
  file: File = 'control.db',
): Promise<Record<string, unknown>[]> {
  if (service.databaseUrl !== undefined)
    return runStatement(service.databaseUrl, statement.replaceAll(/@([A-Z_]+)/g, `${SCHEMA}."$1"`));
  const path = join(service.dataFolder, file);
  if (!existsSync(path)) throw new Error(`There is no ${file} yet.`);
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    return database.prepare(statement.replaceAll(/@([A-Z_]+)/g, '"$1"')).all();
  } finally {
    database.close();
  }
}

/** Returns the names of the needles that are anywhere in the store, also in data that it keeps compressed. */
export async function findInStore(
  service: Service,
  needles: Readonly<Record<string, string | Uint8Array>>,
): Promise<string[]> {
  const { databaseUrl } = service;
  const heap = databaseUrl === undefined ? readFolder(service.dataFolder) : await readDatabase(databaseUrl);
  const hasRequests = databaseUrl !== undefined || existsSync(join(service.dataFolder, 'requests.db'));
  const requests = hasRequests ? await runSql(service, 'SELECT "LINES" FROM @REQUESTS', 'requests.db') : [];
  heap.push(...requests.map(({ LINES }) => unpack(LINES)));
  return Object.entries(needles)
    .filter(([, needle]) => formsOf(needle).some((form) => heap.some((bytes) => bytes.includes(form))))
    .map(([name]) => name);
}

/** Returns the lines of a block of the request log. The store compresses them if that makes them shorter. */
export function unpack(lines: unknown): Buffer {
  const bytes = Buffer.from(lines as Uint8Array);
  return bytes[0] === OPENING_BRACKET ? bytes : zstdDecompressSync(bytes);
}

/** Returns the needle unchanged and in hexadecimal, the form in which PostgreSQL prints bytes. */
function formsOf(needle: string | Uint8Array): Buffer[] {
  const bytes = Buffer.from(needle);
  return [bytes, Buffer.from(bytes.toString('hex'))];
}

function readFolder(folder: string): Buffer[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => readFileSync(join(entry.parentPath, entry.name)));
}

async function readDatabase(url: string): Promise<Buffer[]> {
  const tables = await runStatement(
    url,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
   WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  const rows = await Promise.all(
    tables.map(({ name }) => runStatement(url, `SELECT t::text AS text FROM ${name as string} t`)),
  );
  return rows.map((found) => Buffer.from(found.map(({ text }) => text as string).join('\n')));
}

/** Makes the last proof of a password six minutes old in every session of the user, which is too old. */
export const forgetProof = (service: Service, email: string): Promise<unknown> =>
  runSql(service, `UPDATE @SESSIONS SET "PROVEN_AT" = '${service.timeAt(-360_000)}' WHERE "EMAIL" = '${email}'`);

const QUERIES = ['/orders/query', '/customers/query', '/inventory/query'];

/** Returns all that an owner sees of the tenant as one text, except what reading changes: times, usage, requests. */
export async function everythingOf(owner: Visitor): Promise<string> {
  const seen: unknown[] = [];
  for (const path of QUERIES) seen.push((await owner.post(`/records${path}`, [])).body);
  for (const path of ['/settings', '/users', '/fields', '/audit', '/audit/verify'])
    seen.push((await owner.get(path)).body);
  const { keys } = await owner.ask('GET /keys');
  const { sessions } = await owner.ask('GET /sessions');
  const { webhooks } = await owner.ask('GET /webhooks');
  const named = [pick(keys, 'apiID', 'endsAt'), valuesOf(sessions, 'sessionId'), pick(webhooks, 'id', 'url', 'state')];
  return JSON.stringify([seen, ...named], undefined, 1);
}

/** Returns everything by which an outsider could tell two refusals apart: all except their dates and IDs. */
export function appearanceOf({ status, headers, body, text }: Reply): unknown {
  const { requestId, ...rest } = body as { requestId: string };
  const shown = [...headers].filter(([name]) => !['date', 'x-request-id', 'content-length'].includes(name));
  return { status, headers: shown, length: text.length - requestId.length, body: rest };
}

/** Returns the audit log, oldest record first. */
export const auditOf = async (owner: Visitor): Promise<AuditRecord[]> =>
  (await owner.ask('GET /audit')).records.toReversed();
