/** A dialect: the differences between the stores in the statements of writes. */
import type { FieldDictionary, KeyedType } from '../../pims/rules/fields.ts';
import type { Values } from '../../pims/rules/values.ts';
import type { Statement } from '../writing.ts';
import type { Dialect } from './where.ts';

/** Builds an expression for a member of a JSON object. */
export type Column = readonly [name: string, expression: string];

export interface ScriptDialect extends Pick<Dialect, 'equals'> {
  /** Returns the name of a table in a statement: `"ORDERS"`, on PostgreSQL with its schema. */
  readonly table: (name: string) => string;
  /** Selects the texts of a JSON list. */
  readonly list: string;
  /** Selects the items of a JSON list, with their `place` and JSON `value`, as a table. */
  readonly items: string;
  /** The type of a column that holds a field. */
  readonly fieldType: string;
  /** Returns the statements that follow the addition of a field. */
  readonly fieldsChanged: readonly Statement[];
  /** Builds an expression for a JSON object as text, from names and the expressions of their values. */
  recordJson(columns: readonly Column[]): string;
  /** Builds the statements that insert a record and its search index. `version` is its first, see VERSION. */
  insertRecord(
    recordType: KeyedType,
    dictionary: FieldDictionary,
  ): (sortKey: string, record: Values, version: string) => readonly Statement[];
  /**
   * Builds the statements that update these fields of a record, its version, and its search index if a field is
   * searched. `record` has all fields, with their new values.
   */
  updateRecord(
    recordType: KeyedType,
    dictionary: FieldDictionary,
  ): (sortKey: string, names: readonly string[], record: Values) => readonly Statement[];
}
