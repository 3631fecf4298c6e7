/**
 * Finds the filters with the fewest records. Entries of indexes are counted for each query, up to a bound, so that the
 * result follows the data; counts of common values are cached for a while.
 */
import { RECORD_TYPES, type RecordType } from '../../../pims/rules/fields.ts';
import type { FilterTerm } from '../../../pims/reads/query.ts';
import type { Database } from '../files/database.ts';

/** Counts below this are not kept: counting an entry takes 30 to 60 ns. */
const FEW = 256;
/** Maximum entries that one query counts, in a millisecond or two. */
const ENTRIES_MAX = 32 * 1024;
/** Starting a count takes as long as counting this many entries. */
const ENTRIES_OF_BEGINNING = 100;
const TRIGRAMS_MAX = 16;
const TRIGRAMS_ENOUGH = 2;
const FEW_OF_A_TRIGRAM = 512;
/**
 * A list that is this many times as long as another is not worth walking, because an entry takes 30 ns, and saves 2
 * to 5 µs if it excludes a record.
 */
const TIMES_THE_RAREST = 32;
/** A trigram with fewer records is rare. Each record in its list takes a microsecond or two. */
const RARE = 2048;
const KEPT_MAX = 1024;
const KEPT_CHARACTERS_MAX = 64;
const KEPT_MS = 30_000;

interface KeptCount {
  readonly count: number;
  /** The bound of the count. If the count equals the bound, there may be more entries. */
  readonly most: number;
  readonly until: number;
}

/** A term, and the SQL of its entries in a table or an index. */
export interface Candidate {
  readonly term: FilterTerm;
  readonly entries: string;
  readonly values: readonly string[];
}

export type EntryCounts = ReturnType<typeof makeEntryCounts>;

export function makeEntryCounts(db: Database) {
  const counts = new Map<string, KeptCount>();
  /** Entries that this query may still count. */
  let left = ENTRIES_MAX;

  /** Divides the entries that may still be counted among this number of values. */
  const shareOf = (values: number) => Math.max(FEW, Math.floor(left / values));

  /** Returns the number of entries, or `most` if there are at least that many or the number is unknown. */
  const countEntries = (entries: string, values: readonly string[], most: number) => {
    const key = entries + values.join('\0');
    const kept = counts.get(key);
    if (kept && (kept.count < kept.most || kept.most >= most) && kept.until > performance.now()) return kept.count;
    if (left <= 0) return most;
    const sql = `SELECT count(*) FROM (SELECT 1 FROM ${entries} LIMIT ? + 0)`;
    const [found] = db.row<[number]>(sql, ...values, most)!;
    left -= found + ENTRIES_OF_BEGINNING;
    if (found < FEW || key.length - entries.length > KEPT_CHARACTERS_MAX) return found;
    counts.delete(key);
    if (counts.size >= KEPT_MAX) counts.delete(counts.keys().next().value!);
    counts.set(key, { count: found, most, until: performance.now() + KEPT_MS });
    return found;
  };

  /** Returns trigrams in fewer than `most` records, the rarest first. With the lowest bound, two are enough. */
  const countTrigrams = (recordType: RecordType, trigrams: readonly string[], most: number) => {
    const search = `${RECORD_TYPES[recordType].table}_SEARCH`;
    const counted: { readonly trigram: string; readonly records: number }[] = [];
    for (const trigram of trigrams) {
      const records = countEntries(`${search} WHERE ${search} MATCH ?`, [quote(trigram)], most);
      if (records < most) counted.push({ trigram, records });
      if (most === FEW_OF_A_TRIGRAM && counted.length === TRIGRAMS_ENOUGH) break;
    }
    return counted.toSorted((a, b) => a.records - b.records);
  };

  return {
    beginQuery() {
      left = ENTRIES_MAX;
    },
    /** Finds the term with the fewest entries in its index. `isKnown` means that all of them were counted. */
    findFewest(candidates: readonly Candidate[]) {
      let term = candidates[0]?.term;
      for (const isFirst of [true, false]) {
        const most = isFirst ? FEW : shareOf(candidates.length);
        let least = most;
        for (const candidate of candidates) {
          const entries = countEntries(candidate.entries, candidate.values, most);
          if (entries < least) [term, least] = [candidate.term, entries];
        }
        if (least < most) return { term, isKnown: true };
      }
      return { term, isKnown: false };
    },
    /**
     * Chooses one or two of these trigrams that few records have, so that the search index does not walk the long lists
     * of the others. If all have many, it chooses some that contain all characters.
     */
    findRare(recordType: RecordType, trigrams: readonly string[]) {
      const some = trigrams.slice(0, TRIGRAMS_MAX);
      // Trigrams that are far from each other exclude more records together.
      const order = some.toSorted((a, b) => distanceToEnd(some, a) - distanceToEnd(some, b));
      let counted = countTrigrams(recordType, order, FEW_OF_A_TRIGRAM);
      if (counted.length < TRIGRAMS_ENOUGH) {
        const longest = (counted[0]?.records ?? Infinity) * TIMES_THE_RAREST;
        const most = Math.min(longest, shareOf(order.length));
        if (most > FEW_OF_A_TRIGRAM) counted = countTrigrams(recordType, order, most);
      }
      const [rarest] = counted;
      if (!rarest) return { trigrams: some.filter((_, at) => at % 3 === 0 || at === some.length - 1), isRare: false };
      const worthIt = counted.slice(0, 2).filter(({ records }) => records <= rarest.records * TIMES_THE_RAREST);
      return { trigrams: worthIt.map(({ trigram }) => trigram), isRare: rarest.records < RARE };
    },
  };
}

const distanceToEnd = (list: readonly string[], item: string) =>
  Math.min(list.indexOf(item), list.length - 1 - list.indexOf(item));

/** Quotes a trigram as a phrase of the search index. */
export const quote = (trigram: string): string => `"${trigram.replaceAll('"', '""')}"`;
