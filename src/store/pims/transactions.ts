/**
 * The writes of a PimsStore, the same for every SQL store: what differs is how a store runs a writing inside a transaction. Keeps two requests under one
 * idempotency key apart while the first is running. Holds no rules and no SQL.
 */
import { Refusal, type Outcome } from '../../errors.ts';
import type { OrderTransition } from '../../pims/lifecycle.ts';
import type { Values } from '../../pims/values.ts';
import type { CustomField, RecordType } from '../../pims/fields.ts';
import type { ImportResult, ImportRow, WriteOptions, Written } from '../../pims/port.ts';
import type { PimsImport } from './import.ts';
import type { PimsWriter } from './writer.ts';
import type { Writing } from '../writing.ts';

export abstract class PimsWrites {
  readonly #running = new Set<string>();
  protected abstract readonly writer: PimsWriter;

  /** Runs a writing in the next transaction, under the dictionaries as they stand. Resolves when its outcome is on disk. Repeated work is made anew. */
  protected abstract commit<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>>;

  createRecord(recordType: 'orders' | 'customers', values: Values, options: WriteOptions): Promise<Outcome<Written>> {
    return this.#write(options, () => this.writer.createRecord(recordType, values, options));
  }

  updateCustomer(customerCode: string, change: Values, options: WriteOptions): Promise<Outcome<Written>> {
    return this.#write(options, () => this.writer.updateCustomer(customerCode, change, options));
  }

  addLine(orderNumber: string, values: Values, options: WriteOptions): Promise<Outcome<Written>> {
    return this.#write(options, () => this.writer.addLine(orderNumber, values, options));
  }

  updateLine(orderNumber: string, lockCode: string, change: Values, options: WriteOptions): Promise<Outcome<Written>> {
    return this.#write(options, () => this.writer.updateLine(orderNumber, lockCode, change, options));
  }

  advanceOrder(orderNumber: string, step: OrderTransition, options: WriteOptions): Promise<Outcome<Written>> {
    return this.#write(options, () => this.writer.advanceOrder(orderNumber, step, options));
  }

  addField(field: CustomField): Promise<Outcome<void>> {
    return this.commit(() => this.writer.addField(field));
  }

  /** Imports batches, each in a transaction of its own. */
  protected async *importEach(
    recordType: RecordType,
    batches: AsyncIterable<ImportRow[]>,
    importer: PimsImport,
  ): AsyncIterable<ImportResult> {
    for await (const batch of batches) {
      const result = await this.commit(() => importer.writeBatch(recordType, batch));
      if (result instanceof Refusal) throw result;
      yield result;
    }
  }

  /** A key whose first request is not yet on disk is running: nothing can be said of its outcome. */
  async #write(options: WriteOptions, work: () => Writing<Outcome<string>>): Promise<Outcome<Written>> {
    const { idempotency } = options;
    const running = idempotency && `${idempotency.operation} ${idempotency.key}`;
    if (running !== undefined && this.#running.has(running))
      return new Refusal('IDEMPOTENCY_KEY_RUNNING', undefined, { retryAfterSeconds: 1 });
    if (running !== undefined) this.#running.add(running);
    try {
      return await this.commit(() => this.writer.once(idempotency, options.now, work()));
    } finally {
      if (running !== undefined) this.#running.delete(running);
    }
  }
}
