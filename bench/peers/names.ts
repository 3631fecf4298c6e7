/** The peers that Storeroom is measured beside. */
export const PEERS = ['platformatic', 'feathers', 'directus'] as const;
export type PeerName = (typeof PEERS)[number];
