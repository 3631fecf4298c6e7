/** The tags of the model's records: another one with every write of the record, and with every field of its dictionary. */
import type { KeyedType } from '../../src/pims/rules/fields.ts';
import { rememberMap } from './batches.ts';

export class Tags {
  readonly #moves = new Map<string, number>();
  readonly #fields = { orders: 0, customers: 0, inventory: 0 };

  /** Names the state that the record is in now. */
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

/** Without a character that JSON escapes. */
const nameOf = (recordType: KeyedType, key: string): string => `${recordType} ${Buffer.from(key).toString('hex')}`;
