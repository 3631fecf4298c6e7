/** The tags of the model's records. Every write of a record, and every new field of its type, changes the tag. */
import type { KeyedType } from '../../src/pims/rules/fields.ts';
import { rememberMap } from './batches.ts';

export class Tags {
  readonly #moves = new Map<string, number>();
  readonly #fields = { orders: 0, customers: 0, inventory: 0 };

  /** Returns the current tag of a record. */
  of(recordType: KeyedType, key: string): string {
    const name = nameOf(recordType, key);
    return `${name} ${this.#moves.get(name) ?? 0} ${this.#fields[recordType]}`;
  }

  moved(recordType: KeyedType, key: string): void {
    const name = nameOf(recordType, key);
    this.#moves.set(name, (this.#moves.get(name) ?? 0) + 1);
  }

  remember = (): (() => void) => rememberMap(this.#moves);

  fieldAdded(recordType: KeyedType): void {
    this.#fields[recordType]++;
  }
}

/** Returns a name without characters that JSON escapes. */
const nameOf = (recordType: KeyedType, key: string): string => `${recordType} ${Buffer.from(key).toString('hex')}`;
