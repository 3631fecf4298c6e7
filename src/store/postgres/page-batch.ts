/**
 * Short queries of one tenant that wait at the same moment: those of one shape go out as one statement. What takes
 * longer than the connection allows, or has large records, is left to be read by itself.
 */
import { Refusal } from '../../errors.ts';
import type { Page } from '../../pims/port.ts';
import { KeyBatch } from './key-batch.ts';
import { LARGE_PAGE, type PageQuestion, type PageRow } from './page-sql.ts';
import type { SharedConnection } from './shared-connection.ts';

/** Questions of a statement, and the records they may come to, by what the shape has come to before. */
const QUESTIONS_MAX = 32;
const RECORDS_MAX = 1600;
/** After a statement took too long, its shape is read alone for this long, and all queries of the tenant for that. */
const SHAPE_PAUSE_MS = 60_000;
const TENANT_PAUSE_MS = 1000;
const SHAPES_MAX = 100;
/** Questions that are known to have more records, or larger ones, than a statement for several may come to. */
const LARGE_MAX = 100;

interface Known {
  /** Most records of a page of the last statement. */
  records: number;
  pausedUntil: number;
}

export class PageBatch {
  readonly #connections: readonly SharedConnection[];
  readonly #follow: (fieldsVersion: number) => Promise<boolean>;
  readonly #questions: KeyBatch<Page, PageQuestion>;
  readonly #shapes = new Map<string, Known>();
  readonly #large = new Set<string>();
  #pausedUntil = 0;
  #next = 0;

  /** `follow` answers whether the dictionaries of the questions no longer hold. */
  constructor(connections: readonly SharedConnection[], follow: (fieldsVersion: number) => Promise<boolean>) {
    this.#connections = connections;
    this.#follow = follow;
    this.#questions = new KeyBatch((questions) => this.#load(questions));
  }

  /** Undefined when it must be asked by itself. */
  async ask(question: PageQuestion): Promise<Page | undefined> {
    if (this.#isPaused(question.shape)) return undefined;
    if (this.#large.size > 0 && this.#large.has(keyOf(question))) return undefined;
    return this.#questions.ask(question);
  }

  async #load(questions: PageQuestion[]): Promise<ReadonlyMap<PageQuestion, Page>> {
    const statements: PageQuestion[][] = [];
    for (const alike of Map.groupBy(questions, ({ shape }) => shape).values()) {
      const { records } = this.#knownOf(alike[0]!);
      const most = Math.max(1, Math.min(QUESTIONS_MAX, Math.floor(RECORDS_MAX / Math.max(1, records))));
      for (let at = 0; at < alike.length; at += most) statements.push(alike.slice(at, at + most));
    }
    const pages = new Map<PageQuestion, Page>();
    const first = this.#next++;
    const lanes = this.#connections.map(async (_, lane) => {
      const connection = this.#connections[(first + lane) % this.#connections.length]!;
      // One after the other, so that what takes too long is found out before there is more of it.
      for (let at = lane; at < statements.length && !this.#isPaused(); at += this.#connections.length)
        await this.#loadAlike(connection, statements[at]!, pages);
    });
    await Promise.all(lanes);
    return pages;
  }

  #isPaused(shape = ''): boolean {
    return performance.now() < Math.max(this.#pausedUntil, this.#shapes.get(shape)?.pausedUntil ?? 0);
  }

  async #loadAlike(
    connection: SharedConnection,
    alike: readonly PageQuestion[],
    pages: Map<PageQuestion, Page>,
  ): Promise<void> {
    const { sql, limit, values } = alike[0]!;
    const known = this.#knownOf(alike[0]!);
    const lists = values.map((_, at) => alike.map((question) => question.values[at]!));
    const after = alike.map((question) => question.after);
    let rows: PageRow[];
    try {
      rows = await connection.ask<PageRow>(sql(), [[...alike.keys()], after, limit, ...lists]);
    } catch (fault) {
      if (!(fault instanceof Refusal && fault.code === 'SERVICE_BUSY')) throw fault;
      this.#pausedUntil = performance.now() + TENANT_PAUSE_MS;
      known.pausedUntil = performance.now() + SHAPE_PAUSE_MS;
      return;
    }
    if (await this.#follow(rows[0]![4])) return;
    known.records = Math.max(...rows.map(([, , count]) => count));
    for (const [at, records, count, last] of rows) {
      const question = alike[at]!;
      if (records === LARGE_PAGE) this.#noteLarge(question);
      else if (records === null || Buffer.byteLength(records) <= question.bytesMax)
        pages.set(question, { records: `[${records ?? ''}]`, next: count > limit ? last : null });
    }
  }

  #noteLarge(question: PageQuestion): void {
    if (this.#large.size >= LARGE_MAX) this.#large.clear();
    this.#large.add(keyOf(question));
  }

  #knownOf({ shape, limit }: PageQuestion): Known {
    let known = this.#shapes.get(shape);
    if (known) return known;
    if (this.#shapes.size >= SHAPES_MAX) this.#shapes.clear();
    known = { records: limit, pausedUntil: 0 };
    this.#shapes.set(shape, known);
    return known;
  }
}

const keyOf = ({ shape, values }: PageQuestion): string => JSON.stringify([shape, values]);
