/**
 * Decides which addresses a delivery may connect to: public ones only. A name is resolved for each connection, and the
 * connection is made to the addresses that were checked, so that a name cannot change in between (DNS rebinding).
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';

/**
 * Networks that are not public. Source: IANA's special-purpose registries, RFC 6890. Of IPv6 only 2000::/3 is public, which
 * leaves out loopback, link-local, unique-local, multicast, IPv4-mapped and NAT64 addresses; and not the parts of it that
 * lead to an IPv4 address (Teredo, 6to4).
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

/** Returns whether the host of a URL is a name, which is resolved later, or a public address. */
export function mayBePublic(hostname: string): boolean {
  const host = hostname.replace(/[[\]]/g, '');
  return isIP(host) === 0 || isPublic(host);
}

/** Thrown for an address that is not public. */
export class PrivateAddress extends Error {
  static readonly text = 'The address of the receiver is not public. STOREROOM_WEBHOOK_PRIVATE allows such addresses.';
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

/** Builds the name resolution of a connection. It passes on only public addresses. */
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

/** Name resolution for a service that may call private addresses: as the machine resolves every name. */
export const lookUpAll: LookupFunction = lookup;
