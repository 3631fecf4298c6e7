/** The version of a record, and its tag: what stands for everything that a single read of it answers. */
import { hash } from 'node:crypto';
import type { Dictionaries, KeyedType } from '../../pims/rules/fields.ts';

/** The column that stands for the state of a record: every write of it moves it, and of an order every write of a line. */
export const VERSION = '_VERSION';

const FIELDS_HASH_CHARACTERS = 10;

/** An expression that gives the tag of a record. A field that is added changes what is answered, so it has a part in it. */
export function tagColumn(dictionaries: Dictionaries, recordType: KeyedType): string {
  const answered = recordType === 'orders' ? [dictionaries.orders, dictionaries.lines] : [dictionaries[recordType]];
  const names = JSON.stringify(answered.map((dictionary) => [...dictionary.keys()]));
  // With the quotes of the header: nothing is left to do with it for most answers.
  return `'"' || "${VERSION}" || '.${hash('sha256', names, 'hex').slice(0, FIELDS_HASH_CHARACTERS)}"'`;
}
