/** The peers that Storeroom is measured beside. */
export const PEERS = ['platformatic', 'feathers'] as const;
export type PeerName = (typeof PEERS)[number];
