/** Collects orders and their lines row by row, so that neither side ever holds more of them than an answer may. */
import type { Json } from '../../../pims/writes/script.ts';
import type { LargeRow } from './pims-sql.ts';

/** What becomes of the JSON of a record. */
export interface Takers<Order, Line> {
  readonly order: (record: Json) => Order;
  readonly line: (record: Json) => Line;
}

interface LargeOrder<Order, Line> {
  order: Order | undefined;
  readonly tag: string;
  readonly lines: (readonly [number: number, line: Line])[];
}

export class LargeOrders<Order, Line> {
  readonly #ordersMax: number;
  readonly #charactersMax: number;
  readonly #take: Takers<Order, Line>;
  readonly #orders = new Map<string, LargeOrder<Order, Line>>();
  #characters = 0;
  /** Of the dictionaries the rows were read with. */
  fieldsVersion = 0;

  /** Records are taken apart as they come, so that this never takes long at once. */
  constructor(ordersMax: number, charactersMax: number, take: Takers<Order, Line>) {
    this.#ordersMax = ordersMax;
    this.#charactersMax = charactersMax;
    this.#take = take;
  }

  /** Whether there are more than an answer may have. */
  get isTooLarge(): boolean {
    return this.#orders.size > this.#ordersMax || this.#characters > this.#charactersMax;
  }

  /** False when that is so. */
  take([sortKey, number, record, fieldsVersion, tag]: LargeRow): boolean {
    this.fieldsVersion = fieldsVersion;
    let found = this.#orders.get(sortKey);
    if (!found) this.#orders.set(sortKey, (found = { order: undefined, tag, lines: [] }));
    this.#characters += record.length;
    if (this.isTooLarge) return false;
    if (number === 0) found.order = this.#take.order(record);
    else found.lines.push([number, this.#take.line(record)]);
    return true;
  }

  /** All orders, in any order, with their lines in the order of their numbers. */
  list(): { order: Order; tag: string; lines: Line[] }[] {
    return [...this.#orders.values()].map(({ order, tag, lines }) => ({
      order: order!,
      tag,
      lines: lines.toSorted(([a], [b]) => a - b).map(([, line]) => line),
    }));
  }
}
