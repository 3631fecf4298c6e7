/** Makes TypeScript clients for the tenants of a service, and keeps a list of their tries. */
import { Storeroom, type StoreroomError, type StoreroomOptions, type Try } from '../../client/src/storeroom.ts';
import type { CustomFields } from '../../client/src/records.ts';
import type { Shop } from '../kit/records.ts';
import { BASE_PATH } from '../kit/service.ts';

export interface Watched<Custom extends CustomFields> {
  readonly client: Storeroom<Custom>;
  /** All tries so far, in order. */
  readonly tries: Try[];
}

/** Returns a client and the list of its tries. The client waits 1 ms before its first retry. */
export function clientOf<Custom extends CustomFields = CustomFields>(
  { service, keys }: Shop,
  options: Partial<StoreroomOptions> = {},
): Watched<Custom> {
  const tries: Try[] = [];
  const onTry = (tried: Try): void => void tries.push(tried);
  const baseUrl = service.origin + BASE_PATH;
  return { client: new Storeroom<Custom>({ baseUrl, ...keys, firstWaitMs: 1, onTry, ...options }), tries };
}

/** Returns the members of an error other than its message. */
export const membersOf = (error: StoreroomError): Record<string, unknown> => Object.fromEntries(Object.entries(error));
