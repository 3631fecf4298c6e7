/**
 * Keeps the responses of small reads until any record of their tenant changes. All tenants share one bound, and the
 * oldest response is dropped first. Source: decision 0009.
 */

interface KeptAnswer {
  readonly epoch: number;
  readonly answer: unknown;
  readonly characters: number;
}

/** Maximum characters of all kept responses. A character takes one or two bytes. */
const CHARACTERS_MAX = 24 * 1024 * 1024;
/** Maximum characters of a kept response. A larger one would displace too many others. */
const ANSWER_CHARACTERS_MAX = 64 * 1024;
/** Memory of an entry without its characters. */
const ENTRY_CHARACTERS = 200;
const RECENT_MAX = 8191;

export type KeptAnswers = ReturnType<typeof makeKeptAnswers>;

export function makeKeptAnswers() {
  const byKey = new Map<string, KeptAnswer>();
  /**
   * Keys of small responses that were read once. A response is kept when it is read again, because keeping it costs
   * more than one read saves.
   */
  const small = makeRecentKeys();
  let characters = 0;
  let epochs = 0;
  const remove = (key: string) => {
    const kept = byKey.get(key);
    if (!kept) return;
    byKey.delete(key);
    characters -= kept.characters;
  };
  return {
    /** Keys of responses that were too large for the event loop. */
    large: makeRecentKeys(),
    /** Returns a number for one state of one tenant's records. No other state has it. */
    newEpoch: () => ++epochs,
    /** Returns the response if it was read in this epoch. */
    find(key: string, epoch: number): unknown {
      const kept = byKey.get(key);
      return kept?.epoch === epoch ? kept.answer : undefined;
    },
    keep(key: string, epoch: number, answer: unknown, length: number) {
      if (length > ANSWER_CHARACTERS_MAX) return;
      if (!small.has(key)) return small.add(key);
      remove(key);
      const size = length + key.length + ENTRY_CHARACTERS;
      byKey.set(key, { epoch, answer, characters: size });
      characters += size;
      for (const oldest of byKey.keys()) {
        if (characters <= CHARACTERS_MAX) break;
        remove(oldest);
      }
    },
  };
}

/** Keys that were added lately, by their hash. A newer key takes the place of an older one. */
function makeRecentKeys() {
  const hashes = new Int32Array(RECENT_MAX);
  return {
    has(key: string) {
      const hash = hashOf(key);
      return hashes[placeOf(hash)] === hash;
    },
    add(key: string) {
      const hash = hashOf(key);
      hashes[placeOf(hash)] = hash;
    },
  };
}

const placeOf = (hash: number) => (hash >>> 0) % RECENT_MAX;

function hashOf(key: string): number {
  let hash = 0;
  for (let at = 0; at < key.length; at++) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0;
  return hash;
}
