/** Clients of a service's tenants, with what they tell of every try. */
import { Storeroom, type StoreroomError, type StoreroomOptions, type Try } from '../../client/src/storeroom.ts';
import type { CustomFields } from '../../client/src/records.ts';
import type { Shop } from '../kit/records.ts';
import { BASE_PATH } from '../kit/service.ts';

export interface Watched<Custom extends CustomFields> {
  readonly client: Storeroom<Custom>;
  /** Every try so far. */
  readonly tries: Try[];
}

/** A client that a test can watch. It never waits for long. */
export function clientOf<Custom extends CustomFields = CustomFields>(
  { service, keys }: Shop,
  options: Partial<StoreroomOptions> = {},
): Watched<Custom> {
  const tries: Try[] = [];
  const onTry = (tried: Try): void => void tries.push(tried);
  const baseUrl = service.origin + BASE_PATH;
  return { client: new Storeroom<Custom>({ baseUrl, ...keys, firstWaitMs: 1, onTry, ...options }), tries };
}

/** What an error says of itself beside its message. */
export const membersOf = (error: StoreroomError): Record<string, unknown> => Object.fromEntries(Object.entries(error));
