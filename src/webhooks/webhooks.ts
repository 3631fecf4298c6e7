/**
 * Begin here: the rules of webhooks. An endpoint of a tenant receives the tenant's changes in order, each at least once.
 * A delivery that fails is retried on a schedule, after which the endpoint is paused.
 */
import { formatTime } from '../clock.ts';
import { refuseField } from '../errors.ts';
import { CHANGED_TYPES } from '../pims/changes.ts';
import { mayBePublic, PrivateAddress } from './addresses.ts';
import type { KeyedType } from '../pims/rules/fields.ts';
import type { Progress } from './webhooks-port.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The time from each failure in a row to the next attempt. After one more failure the endpoint is paused. */
const RETRIES_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
];
/** Maximum time of a delivery, from name resolution to the end of the response. */
export const DELIVERY_MS = 15 * SECOND_MS;
/** The time for which the previous secret still signs after it was replaced. */
const OVERLAP_MS = 24 * HOUR_MS;
export const DELIVERY_DAYS = 30;
/** Maximum number of deliveries that are kept of an endpoint. */
export const DELIVERIES_MAX = 10_000;
/** Maximum number of endpoints of a tenant. */
export const WEBHOOKS_MAX = 10;
export const URL_CHARACTERS_MAX = 2000;

/** Returns when to try again after this number of failures in a row, UTC ISO 8601; undefined to pause the endpoint. */
export function timeOfRetry(failures: number, nowMs: number): string | undefined {
  const ms = RETRIES_MS[failures - 1];
  return ms === undefined ? undefined : formatTime(nowMs + ms);
}

/**
 * Returns how long to wait until the next attempt; the longest wait while the endpoint is paused. A date that was set
 * back does not make the wait longer than the schedule.
 */
export function waitOf({ state, nextTryAt }: Progress, nowMs: number): number {
  const longest = RETRIES_MS.at(-1)!;
  if (state === 'paused') return longest;
  return nextTryAt === '' ? 0 : Math.min(Date.parse(nextTryAt) - nowMs, longest);
}

export const endOfOldSecret = (nowMs: number): string => formatTime(nowMs + OVERLAP_MS);

/** Throws COMMAND_REFUSED when a text cannot be the URL of an endpoint. */
export function checkUrl(text: string, isPrivateAllowed: boolean): string {
  const url = text.length <= URL_CHARACTERS_MAX ? URL.parse(text) : null;
  if (url && !isPrivateAllowed && !mayBePublic(url.hostname))
    throw refuseField('COMMAND_REFUSED', 'url', PrivateAddress.text);
  const isScheme = url?.protocol === 'https:' || (isPrivateAllowed && url?.protocol === 'http:');
  if (url && isScheme && url.username === '' && url.password === '' && url.hash === '') return url.href;
  const form = `an https: address of at most ${URL_CHARACTERS_MAX} characters, without a user, a password or a #`;
  throw refuseField('COMMAND_REFUSED', 'url', `The URL must be ${form}.`);
}

/** Returns the types, each once and in their order. Throws COMMAND_REFUSED for an unknown one. No types mean all. */
export function checkTypes(types: readonly string[]): KeyedType[] {
  const unknown = types.find((type) => !CHANGED_TYPES.includes(type as KeyedType));
  if (unknown !== undefined)
    throw refuseField('COMMAND_REFUSED', 'types', `The types can be ${CHANGED_TYPES.join(', ')}, not '${unknown}'.`);
  return CHANGED_TYPES.filter((type) => types.length === 0 || types.includes(type));
}
