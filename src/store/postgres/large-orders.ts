/** Collects orders and their lines row by row, so that neither side ever holds more of them than an answer may. */
import type { Json } from '../../pims/script.ts';
import type { LargeRow } from './pims-sql.ts';

interface LargeOrder<T> {
  order: T | undefined;
  readonly lines: (readonly [number: number, line: T])[];
}

export class LargeOrders<T> {
  readonly #ordersMax: number;
  readonly #charactersMax: number;
  readonly #parse: (record: Json) => T;
  readonly #orders = new Map<string, LargeOrder<T>>();
  #characters = 0;
  /** Of the dictionaries the rows were read with. */
  fieldsVersion = 0;

  /** Records are parsed as they come, so that this never takes long at once. */
  constructor(ordersMax: number, charactersMax: number, parse: (record: Json) => T) {
    this.#ordersMax = ordersMax;
    this.#charactersMax = charactersMax;
    this.#parse = parse;
  }

  /** Whether there are more than an answer may have. */
  get isTooLarge(): boolean {
    return this.#orders.size > this.#ordersMax || this.#characters > this.#charactersMax;
  }

  /** False when that is so. */
  take([sortKey, number, record, fieldsVersion]: LargeRow): boolean {
    this.fieldsVersion = fieldsVersion;
    let found = this.#orders.get(sortKey);
    if (!found) this.#orders.set(sortKey, (found = { order: undefined, lines: [] }));
    this.#characters += record.length;
    if (this.isTooLarge) return false;
    if (number === 0) found.order = this.#parse(record);
    else found.lines.push([number, this.#parse(record)]);
    return true;
  }

  /** All orders, in any order, with their lines in the order of their numbers. */
  list(): { order: T; lines: T[] }[] {
    return [...this.#orders.values()].map(({ order, lines }) => ({
      order: order!,
      lines: lines.toSorted(([a], [b]) => a - b).map(([, line]) => line),
    }));
  }
}
