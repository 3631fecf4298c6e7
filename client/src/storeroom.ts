/**
 * The client of Storeroom: `new Storeroom({ baseUrl, teamID, apiID, apiSecret })`. It waits and retries as
 * docs/api-reference.md recommends, and throws failures as StoreroomError.
 */
import { renderSteps, type BatchAnswers, type BatchStep, type CheckedSteps } from './batch.ts';
import { dataOf, write } from './calls.ts';
import { Caller, type CallOptions, type StoreroomOptions } from './caller.ts';
import { Changes, listChanges, type Change, type ChangePage, type ChangesOptions } from './changes.ts';
import type { ChangeWithRecord, ListChangesOptions } from './changes.ts';
import type { Field, Usage } from './contract.ts';
import { Customers } from './customers.ts';
import { Inventory, Stock } from './inventory.ts';
import { Lines, Orders } from './orders.ts';
import type { CustomFields, RecordType, WriteOptions } from './records.ts';

export { step, type BatchAnswers, type BatchStep, type Reference } from './batch.ts';
export type { Change, ChangePage, Changes, ChangesOptions, ChangeWithRecord, ListChangesOptions } from './changes.ts';
export type { CallOptions, StoreroomOptions, Try } from './caller.ts';
export type { AdvancedOrder, ErrorCode, Field, Movement, Stage, StorefrontItem, StorefrontLookup } from './contract.ts';
export type { StorefrontOrder, Usage } from './contract.ts';
export { StoreroomError } from './error.ts';
export { deriveFulfillment, type Fulfillment, type FulfillmentLine } from './fulfillment.ts';
export type { Page, Query } from './query.ts';
export type * from './records.ts';
export { verifyWebhook, WebhookError, type WebhookEvent, type WebhookOptions } from './webhook.ts';

/** A tenant's orders, customers, inventory and stock. `Custom` names the tenant's custom fields. */
export class Storeroom<Custom extends CustomFields = CustomFields> {
  readonly orders: Orders<Custom>;
  readonly lines: Lines<Custom>;
  readonly customers: Customers<Custom>;
  readonly inventory: Inventory<Custom>;
  readonly stock: Stock<Custom>;
  readonly #caller: Caller;

  constructor(options: StoreroomOptions) {
    this.#caller = new Caller(options);
    this.orders = new Orders(this.#caller);
    this.lines = new Lines(this.#caller);
    this.customers = new Customers(this.#caller);
    this.inventory = new Inventory(this.#caller);
    this.stock = new Stock(this.#caller);
  }

  readonly fields = {
    /** Lists the fields of a record type, including custom fields. */
    list: (type: RecordType, options?: CallOptions): Promise<Field[]> =>
      dataOf(this.#caller.call('listFields', { query: { type }, options })),
  };

  readonly usage = {
    /** Returns the calls of a month (UTC), such as `2026-11`, by default of this month. */
    get: (month?: string, options?: CallOptions): Promise<Usage> =>
      dataOf(this.#caller.call('getUsage', { query: { month }, options })),
  };

  /**
   * Follows the change feed: returns every change after a position, in order, and waits for the next ones. It continues
   * by itself after lost connections, 429 and 5xx. Throws `CHANGES_GONE` if some of these changes are already deleted.
   */
  changes(
    options: ChangesOptions & { readonly include: 'records' | 'records,changes' },
  ): Changes<ChangeWithRecord<Custom>>;
  changes(options?: ChangesOptions & { readonly include?: 'changes' | undefined }): Changes<Change>;
  changes(options: ChangesOptions = {}): Changes<Change> {
    return new Changes(this.#caller, options);
  }

  /** Returns a page of the change feed. Without `after`, the page is empty and its `next` is the current position. */
  listChanges(
    options: ListChangesOptions & { readonly include: 'records' | 'records,changes' },
  ): Promise<ChangePage<ChangeWithRecord<Custom>>>;
  listChanges(options?: ListChangesOptions & { readonly include?: 'changes' | undefined }): Promise<ChangePage>;
  listChanges(options: ListChangesOptions = {}): Promise<ChangePage> {
    return listChanges(this.#caller, options);
  }

  /**
   * Runs 1 to 100 writes in one transaction. A value can be the result of an earlier step: `step(0).data`. Returns the
   * data of each step. An error has the index of the rejected step as `step`.
   */
  async batch<const Steps extends readonly BatchStep<Custom>[]>(
    steps: CheckedSteps<Custom, Steps> & Steps,
    options?: WriteOptions,
  ): Promise<BatchAnswers<Custom, Steps>> {
    const answers = await write<readonly { data: unknown }[]>(this.#caller, 'batch', renderSteps(steps), options);
    return answers.map(({ data }) => data) as BatchAnswers<Custom, Steps>;
  }
}
