/**
 * Begin here: the rules of webhooks. An endpoint of a tenant, whose address must be public, receives the tenant's
 * changes in order, each at least once. A delivery that fails is retried on a schedule, after which the endpoint is
 * paused.
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { formatTime, HOUR_MS, MINUTE_MS } from '../clock.ts';
import { refuseField } from '../errors.ts';
import { CHANGED_TYPES } from '../pims/changes.ts';
import type { Progress } from './webhooks-port.ts';

const SECOND_MS = 1000;

/** The time from each failure in a row to the next attempt. After one more failure the endpoint is paused. */
const RETRIES_MS: readonly number[] = [
  ...[5, 15, 60].map((seconds) => seconds * SECOND_MS),
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
];
/** Maximum time of a delivery, from name resolution to the end of the response. */
export const DELIVERY_MS = 15 * SECOND_MS;
/** The time for which a secret still signs after it was replaced. */
const OVERLAP_MS = 24 * HOUR_MS;
export const DELIVERY_DAYS = 30;
/** Maximum number of deliveries that are kept for an endpoint. */
export const DELIVERIES_MAX = 10_000;
/** Maximum number of replaced secrets of an endpoint that still sign. */
export const OLD_SECRETS_MAX = 10;
/** Maximum number of endpoints of a tenant. */
export const WEBHOOKS_MAX = 10;
export const URL_CHARACTERS_MAX = 2000;

/** Returns when to try again after this number of failures in a row, UTC ISO 8601; undefined to pause the endpoint. */
export function timeOfRetry(failures: number, nowMs: number): string | undefined {
  const ms = RETRIES_MS[failures - 1];
  return ms === undefined ? undefined : formatTime(nowMs + ms);
}

/**
 * Returns how long to wait until the next attempt; the longest wait while the endpoint is paused. Setting the
 * clock back does not make the wait longer than the longest one.
 */
export function waitOf({ state, nextTryAt }: Progress, nowMs: number): number {
  const longest = RETRIES_MS.at(-1)!;
  if (state === 'paused') return longest;
  return nextTryAt === '' ? 0 : Math.min(Date.parse(nextTryAt) - nowMs, longest);
}

export const endOfOldSecret = (nowMs: number): string => formatTime(nowMs + OVERLAP_MS);

/** Returns the URL of an endpoint in its normal form. Throws COMMAND_REFUSED for any other text. */
export function checkUrl(text: string, isPrivateAllowed: boolean): string {
  const url = text.length <= URL_CHARACTERS_MAX ? URL.parse(text) : null;
  if (url && !isPrivateAllowed && !mayBePublic(url.hostname))
    throw refuseField('COMMAND_REFUSED', 'url', PrivateAddress.text);
  const schemes = isPrivateAllowed ? ['http:', 'https:'] : ['https:'];
  if (url && schemes.includes(url.protocol) && url.username + url.password + url.hash === '') return url.href;
  const message = `The URL must be an ${schemes.join(' or ')} address (http: only with STOREROOM_WEBHOOK_PRIVATE) of at most ${URL_CHARACTERS_MAX} characters, without a user, password or #.`;
  throw refuseField('COMMAND_REFUSED', 'url', message);
}

/** The types of messages. A type of records means both of its events. */
export const EVENTS: readonly string[] = CHANGED_TYPES.flatMap((type) => [`${type}.created`, `${type}.updated`]);

/**
 * Returns the types and events, each once, in order. Throws COMMAND_REFUSED for an unknown one. None mean all types.
 */
export function checkTypes(types: readonly string[]): readonly string[] {
  const known = [...CHANGED_TYPES, ...EVENTS];
  const unknown = types.find((type) => !known.includes(type));
  if (unknown !== undefined)
    throw refuseField('COMMAND_REFUSED', 'types', `Use the types ${known.join(', ')}, not '${unknown}'.`);
  return types.length === 0 ? CHANGED_TYPES : known.filter((type) => types.includes(type));
}

/**
 * Networks that are not public. Source: IANA's special-purpose registries, RFC 6890. Only 2000::/3 of IPv6
 * is public, which excludes loopback, link-local, unique-local, multicast, IPv4-mapped and NAT64 addresses. Its parts
 * that lead to IPv4 addresses (Teredo, 6to4) or are reserved are not public.
 */
const NOT_PUBLIC =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 ' +
  '192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ' +
  '::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 3fff::/20';

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6');

/** One list for each family, because Node finds an IPv4 address also in networks of IPv6. */
const notPublic = { ipv4: new BlockList(), ipv6: new BlockList() };
for (const network of NOT_PUBLIC.split(' ')) {
  const [address = '', bits] = network.split('/');
  const family = familyOf(address);
  notPublic[family].addSubnet(address, Number(bits), family);
}

export function isPublic(address: string): boolean {
  const family = familyOf(address);
  return isIP(address) !== 0 && !notPublic[family].check(address, family);
}

/** Returns whether the host of a URL is a public address, or a name that can have one and is resolved later. */
export function mayBePublic(hostname: string): boolean {
  const host = hostname.replace(/[[\]]/g, '');
  return isIP(host) === 0 ? !/(^|\.)localhost$/.test(host) : isPublic(host);
}

/** Thrown for an address that is not public. */
export class PrivateAddress extends Error {
  static readonly text =
    'The address of the receiver is not public or not HTTPS. The operator can allow it with STOREROOM_WEBHOOK_PRIVATE.';
}

type Resolve = (hostname: string) => Promise<LookupAddress[]>;

const NAME_MS = 5000;

/**
 * Resolves a name without the threads that Node shares: a name server that does not answer must not delay other work.
 */
const resolvePublic: Resolve = async (hostname) => {
  const resolver = new Resolver({ timeout: NAME_MS, tries: 2 });
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
  const listOf = (answer: PromiseSettledResult<string[]>, family: number): LookupAddress[] =>
    answer.status === 'rejected' ? [] : answer.value.map((address) => ({ address, family }));
  return [...listOf(four, 4), ...listOf(six, 6)];
};

/**
 * Builds the name resolution of a connection, which returns only public addresses. A name is resolved for each
 * connection, which is made to the checked addresses, so that a name cannot change in between (DNS rebinding).
 */
export function lookUpPublic(resolve: Resolve = resolvePublic): LookupFunction {
  const find = callbackify(async (hostname: string, family: LookupOptions['family']) => {
    const found = await resolve(hostname);
    const wanted = found.filter((one) => isPublic(one.address) && (!family || one.family === Number(family)));
    if (wanted.length === 0) throw new PrivateAddress();
    return wanted;
  });
  return (hostname, { all, family }, callback) =>
    find(hostname, family, (fault, found) => {
      if (fault || all === true) callback(fault, found);
      else callback(null, found[0]!.address, found[0]!.family);
    });
}

/** Name resolution for a service that may call private addresses: the machine's own. */
export const lookUpAll: LookupFunction = lookup;
