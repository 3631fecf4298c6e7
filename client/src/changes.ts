/** The change feed: a page of it, or all changes after a position, including future ones. */
import type { Caller, CallOptions } from './caller.ts';
import type * as contract from './contract.ts';
import { StoreroomError } from './error.ts';
import type { Customer, InventoryItem, OrderFields } from './records.ts';

/** Maximum seconds that the service holds a call for a change. */
const WAIT_SECONDS = 55;

/** A committed change. Keep its `seq` and send it as `after` to continue with the next change. */
export type Change = Omit<contract.Change, 'record'>;

interface RecordOf<Custom> {
  readonly orders: OrderFields<Custom>;
  readonly customers: Customer<Custom>;
  readonly inventory: InventoryItem<Custom>;
}

/** A change with its record at the time of the call, an order without its lines. null if the record does not exist. */
export type ChangeWithRecord<Custom = unknown> = {
  readonly [Type in Change['type']]: Change & { readonly type: Type; readonly record: RecordOf<Custom>[Type] | null };
}[Change['type']];

export interface ChangePage<T = Change> {
  readonly changes: readonly T[];
  /** The `after` of the next page. With `types`, it can be higher than the `seq` of the last change. */
  readonly next: string;
  readonly hasMore: boolean;
}

export interface ChangesOptions extends CallOptions {
  /** The position after which to begin: a `seq`, the `next` of a page, or 0. Without it, the feed begins now. */
  readonly after?: string | number | undefined;
  /** The only record types to return. */
  readonly types?: readonly Change['type'][] | undefined;
  /** `records` adds the current `record` to each change, and `changes` the changed fields. */
  readonly include?: 'records' | 'changes' | 'records,changes' | undefined;
  /** Changes per page: 500 by default, at most 5,000. */
  readonly pageSize?: number | undefined;
}

export interface ListChangesOptions extends ChangesOptions {
  /** Seconds to wait for a change if there is none: 0 by default, at most 55. */
  readonly waitSeconds?: number | undefined;
}

export async function listChanges<T>(
  caller: Caller,
  { after, types, include, pageSize, waitSeconds = 0, ...options }: ListChangesOptions,
): Promise<ChangePage<T>> {
  const query = {
    after: after?.toString(),
    types: types?.join(),
    include,
    maxReturn: pageSize?.toString(),
    wait: waitSeconds === 0 ? undefined : String(waitSeconds),
  };
  const { status, headers, body } = await caller.call('listChanges', { query, options, heldMs: waitSeconds * 1000 });
  const next = headers.get('X-Next-After');
  if (next === null) {
    const message = 'The answer of listChanges has no X-Next-After. Check the proxies in front of the service.';
    throw new StoreroomError({ code: 'UNREADABLE_ANSWER', message }, { operation: 'listChanges', status });
  }
  return {
    changes: (body as { readonly data: readonly T[] }).data,
    next,
    hasMore: headers.get('X-Has-More') === 'true',
  };
}

/** All changes after a position, in order, including future ones. The loop ends only with an error or an abort. */
export class Changes<T> implements AsyncIterable<T> {
  readonly #caller: Caller;
  readonly #options: ChangesOptions;

  constructor(caller: Caller, options: ChangesOptions) {
    this.#caller = caller;
    this.#options = options;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { changes } of this.pages())
      for (const change of changes) {
        this.#options.signal?.throwIfAborted();
        yield change;
      }
  }

  /**
   * Returns whole pages, whose `next` is the position to keep. Without changes, an empty page comes every 55 seconds,
   * so that the position stays recent.
   */
  async *pages(): AsyncGenerator<ChangePage<T>, void, undefined> {
    const { tries = Infinity, totalTimeoutMs = Infinity } = this.#options;
    for (let { after } = this.#options; ;) {
      // Without a position, the first page says where the feed is now.
      const waitSeconds = after === undefined ? 0 : WAIT_SECONDS;
      const page = await listChanges<T>(this.#caller, { ...this.#options, after, tries, totalTimeoutMs, waitSeconds });
      after = page.next;
      yield page;
    }
  }
}
