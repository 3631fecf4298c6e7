/** A query: its records one by one, or page by page. Each page is a call, made when it is needed. */

export interface Page<T> {
  readonly records: readonly T[];
  /** Where the next page begins; undefined on the last. */
  readonly cursor: string | undefined;
  /** How many records match on all pages together, if it was asked. */
  readonly total: number | undefined;
}

export interface PageRequest {
  readonly cursor?: string | undefined;
  readonly pageSize?: number | undefined;
  readonly isCounted?: boolean;
}

export class Query<T> implements AsyncIterable<T> {
  readonly #load: (request: PageRequest) => Promise<Page<T>>;

  constructor(load: (request: PageRequest) => Promise<Page<T>>) {
    this.#load = load;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { records } of this.pages()) yield* records;
  }

  /** All pages, from the first or from a cursor on, which may have been kept. */
  async *pages(cursor?: string): AsyncGenerator<Page<T>, void, undefined> {
    let page = await this.page(cursor);
    for (; page.cursor !== undefined; page = await this.page(page.cursor)) yield page;
    yield page;
  }

  /** One page: the first, or the one that begins at the cursor. */
  page(cursor?: string): Promise<Page<T>> {
    return this.#load({ cursor });
  }

  /** The first record, or undefined. */
  async first(): Promise<T | undefined> {
    return (await this.#load({ pageSize: 1 })).records[0];
  }

  /** Returns a list of at most `limit` records. */
  async toArray({ limit }: { readonly limit: number }): Promise<T[]> {
    const found: T[] = [];
    if (limit > 0)
      for await (const record of this) {
        found.push(record);
        if (found.length >= limit) break;
      }
    return found;
  }

  /** How many records match. It costs a call. */
  async count(): Promise<number> {
    return (await this.#load({ pageSize: 1, isCounted: true })).total!;
  }
}
