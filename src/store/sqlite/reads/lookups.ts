/** Storefront lookups of one tenant: what is kept, and all else with one statement, however many numbers are asked. */
import { Refusal, type Outcome } from '../../../errors.ts';
import type { LookupOptions } from '../../../pims/port.ts';
import type { Rendered } from '../../../pims/script.ts';
import { joinLookups, refuseLargeList, refuseLargeLookup, type LookedUp } from '../../../pims/storefront.ts';
import { TOO_LARGE, type FoundBy, type LookupRead } from './query.ts';

type Found = FoundBy<LookupRead>;
type MaybeLater<T> = T | Promise<T>;

/** What the tenant's store does for them, inside a snapshot. */
interface LookupReads {
  readonly sql: () => string;
  /** Kept answers by their key. */
  readonly find: (key: string) => unknown;
  readonly keep: (key: string, answer: LookedUp, length: number) => void;
  /** On the event loop, and in a worker what turns out large. */
  readonly readSmall: (read: LookupRead, signal: LookupOptions['signal']) => MaybeLater<Outcome<Found>>;
  readonly readLarge: (read: LookupRead, signal: LookupOptions['signal']) => Promise<Outcome<Found>>;
}

const LARGE_KEYS_MAX = 1000;

/** Adds what turned out large on the event loop. */
export function remember(keys: Set<string>, key: string): void {
  if (keys.size >= LARGE_KEYS_MAX) keys.delete(keys.values().next().value!);
  keys.add(key);
}

const keyOf = (referenceNumber: string, recordsMax: number): string => `${recordsMax} ${referenceNumber}`;

export class Lookups {
  readonly #reads: LookupReads;
  readonly #large = new Set<string>();

  constructor(reads: LookupReads) {
    this.#reads = reads;
  }

  view(referenceNumber: string, options: LookupOptions): MaybeLater<Outcome<Rendered>> {
    const { recordsMax } = options;
    const kept = this.#reads.find(keyOf(referenceNumber, recordsMax)) as LookedUp | undefined;
    if (kept) return kept.json;
    return this.#read([referenceNumber], options, (found) =>
      found === TOO_LARGE ? refuseLargeLookup(recordsMax) : found[0]!.json,
    );
  }

  viewEach(referenceNumbers: readonly string[], options: LookupOptions): MaybeLater<Outcome<Rendered>> {
    const { recordsMax } = options;
    const answers = new Map<string, LookedUp>();
    const left: string[] = [];
    for (const number of new Set(referenceNumbers)) {
      const kept = this.#reads.find(keyOf(number, recordsMax)) as LookedUp | undefined;
      if (kept) answers.set(number, kept);
      else left.push(number);
    }
    return this.#read(left, options, (found) => {
      if (found === TOO_LARGE) return refuseLargeList(recordsMax);
      for (const [at, answer] of found.entries()) answers.set(left[at]!, answer);
      return joinLookups(referenceNumbers, answers, recordsMax);
    });
  }

  /** Reads the orders of these numbers, and answers with what it finds. */
  #read(
    referenceNumbers: readonly string[],
    { recordsMax, signal }: LookupOptions,
    answer: (found: Found) => Outcome<Rendered>,
  ): MaybeLater<Outcome<Rendered>> {
    if (referenceNumbers.length === 0) return answer([]);
    const read: LookupRead = { kind: 'lookup', sql: this.#reads.sql(), referenceNumbers, recordsMax };
    const finish = (found: Outcome<Found>): Outcome<Rendered> => (found instanceof Refusal ? found : answer(found));
    if (referenceNumbers.some((number) => this.#large.has(number)))
      return this.#reads.readLarge(read, signal).then(finish);
    const found = this.#reads.readSmall(read, signal);
    if (found instanceof Promise) {
      if (referenceNumbers.length === 1) remember(this.#large, referenceNumbers[0]!);
      return found.then(finish);
    }
    if (!(found instanceof Refusal) && found !== TOO_LARGE)
      for (const [at, one] of found.entries())
        this.#reads.keep(keyOf(referenceNumbers[at]!, recordsMax), one, one.json.length);
    return finish(found);
  }
}
