/** A dialect: the differences between the stores in the statements of writes. */
import type { FieldDictionary, KeyedType } from '../../pims/rules/fields.ts';
import type { Values } from '../../pims/rules/values.ts';
import type { Statement } from '../writing.ts';
import type { Dialect } from './where.ts';

/** A member of a JSON object. */
export type Column = readonly [name: string, expression: string];

export interface ScriptDialect extends Pick<Dialect, 'equals'> {
  /** A table as a statement names it: `"ORDERS"`, or with its schema before it. */
  readonly table: (name: string) => string;
  /** Selects the texts of a JSON list. */
  readonly list: string;
  /** Selects the items of a JSON list, with their `place` and JSON `value`, as a table. */
  readonly items: string;
  /** The type of a column that holds a field. */
  readonly fieldType: string;
  /** Statements that follow when a field has been added. */
  readonly fieldsChanged: readonly Statement[];
  /** An expression that gives a row as JSON text with these names, each the value of its expression. */
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
