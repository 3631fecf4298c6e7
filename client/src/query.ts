/** A query, which returns records one by one or page by page. Each page is a call, made when it is needed. */

export interface Page<T> {
  readonly records: readonly T[];
  /** The start of the next page. Undefined on the last page. */
  readonly cursor: string | undefined;
  /** The number of matching records on all pages, if it was requested. */
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

  /** Returns all pages, from the first or from a saved cursor. */
  async *pages(cursor?: string): AsyncGenerator<Page<T>, void, undefined> {
    let page = await this.page(cursor);
    for (; page.cursor !== undefined; page = await this.page(page.cursor)) yield page;
    yield page;
  }

  /** Returns one page: the first, or the one at the cursor. */
  page(cursor?: string): Promise<Page<T>> {
    return this.#load({ cursor });
  }

  /** Returns the first record, or undefined. */
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

  /** Returns the number of matching records. It makes a call. */
  async count(): Promise<number> {
    return (await this.#load({ pageSize: 1, isCounted: true })).total!;
  }
}
