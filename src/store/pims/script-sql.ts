/**
 * The statements of every request of a script, for both stores; a dialect contains their differences. It is built again
 * when the field dictionaries change. Column names come only from the dictionaries, and values are always bound.
 */
import type { Dictionaries } from '../../pims/rules/fields.ts';
import type { Looks } from '../../pims/pims-port.ts';
import type { ScriptDialect } from './dialect.ts';
import { buildLoads, buildLoadsOfMany, type LoadSql } from './load-sql.ts';
import { buildLooks } from './look-sql.ts';
import { buildSaves, type SaveSql } from './save-sql.ts';

export interface ScriptSql {
  readonly dictionaries: Dictionaries;
  readonly loads: LoadSql;
  readonly saves: SaveSql;
  readonly looks: LoadSql<Looks>;
}

export const buildScriptSql = (dictionaries: Dictionaries, dialect: ScriptDialect): ScriptSql => ({
  dictionaries,
  loads: { ...buildLoads(dictionaries, dialect), ...buildLoadsOfMany(dialect) },
  saves: buildSaves(dictionaries, dialect),
  looks: buildLooks(dialect),
});
