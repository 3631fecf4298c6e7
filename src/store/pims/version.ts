/** The version of a record, and its tag, which identifies everything that a single read of it returns. */
import { hash } from 'node:crypto';
import type { Dictionaries, KeyedType } from '../../pims/rules/fields.ts';

/** The column of a record's version: every write of the record changes it, and every write of a line of an order. */
export const VERSION = '_VERSION';

const FIELDS_HASH_CHARACTERS = 10;

/** Builds the expression of a record's tag. A new field changes what is returned, so the tag depends on the fields. */
export function tagColumn(dictionaries: Dictionaries, recordType: KeyedType): string {
  const answered = recordType === 'orders' ? [dictionaries.orders, dictionaries.lines] : [dictionaries[recordType]];
  const names = JSON.stringify(answered.map((dictionary) => [...dictionary.keys()]));
  // The tag has the quotes of the header, so that most responses send it unchanged.
  return `'"' || "${VERSION}" || '.${hash('sha256', names, 'hex').slice(0, FIELDS_HASH_CHARACTERS)}"'`;
}
