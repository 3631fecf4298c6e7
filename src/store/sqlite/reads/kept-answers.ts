/**
 * Answers of small reads, kept until anything of their tenant changes. One bound for all tenants; what was read first
 * goes first. Source: decision 0009.
 */

interface Kept {
  readonly epoch: number;
  readonly answer: unknown;
  readonly characters: number;
}

/** Characters of answers that are kept, each of one byte or two. */
const CHARACTERS_MAX = 24 * 1024 * 1024;
/** A larger answer would push out too many others. */
const ANSWER_CHARACTERS_MAX = 64 * 1024;
/** Keys asked for lately, by their hash: an answer is kept when it is read again, else it costs more than it saves. */
const LATELY_MAX = 8191;
/** What an entry takes beside its characters. */
const ENTRY_CHARACTERS = 200;

export class KeptAnswers {
  readonly #byKey = new Map<string, Kept>();
  readonly #lately = new Int32Array(LATELY_MAX);
  #characters = 0;
  #epochs = 0;

  /** Stands for one state of one tenant's records, and for no other. */
  newEpoch(): number {
    return ++this.#epochs;
  }

  /** The answer, if it was read in this epoch. */
  find(key: string, epoch: number): unknown {
    const kept = this.#byKey.get(key);
    return kept?.epoch === epoch ? kept.answer : undefined;
  }

  keep(key: string, epoch: number, answer: unknown, length: number): void {
    if (length > ANSWER_CHARACTERS_MAX || !this.#isAskedAgain(key)) return;
    this.#remove(key);
    const characters = length + ENTRY_CHARACTERS;
    while (this.#characters + characters > CHARACTERS_MAX) this.#remove(this.#byKey.keys().next().value!);
    this.#byKey.set(key, { epoch, answer, characters });
    this.#characters += characters;
  }

  #isAskedAgain(key: string): boolean {
    let hash = 0;
    for (let at = 0; at < key.length; at++) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0;
    const place = (hash >>> 0) % LATELY_MAX;
    const isAgain = this.#lately[place] === hash;
    this.#lately[place] = hash;
    return isAgain;
  }

  #remove(key: string): void {
    const kept = this.#byKey.get(key);
    if (!kept) return;
    this.#byKey.delete(key);
    this.#characters -= kept.characters;
  }
}
