/**
 * The scripts of a kind of schema: `KIND-NNNN.sql`. The first script creates the schema with its number, and each later
 * one migrates it to the next number. Released scripts never change. Source: decision 0062.
 */
import { listAssets, readAsset, VERSION } from '../../assets.ts';
import { refuseCommand, type Refusal } from '../../errors.ts';

export type SchemaScripts = ReturnType<typeof loadSchema>;

/**
 * The types of a store by the names that the shared tables have for them. FIELD is the type of a field, and INDEXED what
 * an index has of the field $&.
 */
export interface ColumnTypes extends Readonly<Record<string, string>> {
  readonly FIELD: string;
  readonly INDEXED: string;
}

/**
 * Loads the scripts of a kind from a folder, whose name ends with a slash. In a script, `$FIELDS(A, B)` declares a
 * column for each field, `$INDEXES(T: A, B)` an index of each of these columns of a table, which sorts by its key too, and
 * `$TABLES` the tables of this kind that both stores have.
 */
export function loadSchema(folder: string, kind: string, types: ColumnTypes) {
  const readScript = (name: string) => readAsset(name).toString();
  const listTables = () =>
    readScript(`src/store/${kind}/migrations/${kind}-0001.sql`).replaceAll(
      /(?<!")\$?\b[A-Z]+\b/g,
      (word) => types[word] ?? word,
    );
  const listIndexes = (_: string, table: string, names: string) =>
    names.replaceAll(/(\w+)(, *)?/g, (__, name: string) => {
      const indexed = types.INDEXED.replace('$&', name);
      return `CREATE INDEX "${table}_${name}" ON "${table}" (${indexed}, "SORT_KEY");\n`;
    });
  const listFields = (_: string, names: string) => names.replaceAll(/\w+/g, `"$&" ${types.FIELD}`);
  const scripts = listAssets(folder)
    .filter((name) => name.startsWith(`${folder}${kind}-`))
    .map((name) => {
      const script = readScript(name)
        .replace('$TABLES', listTables)
        .replaceAll(/\$INDEXES\((\w+): ([^)]*)\)/g, listIndexes)
        .replaceAll(/\$FIELDS\(([^)]*)\)/g, listFields);
      return [Number(/(\d+)\.sql$/.exec(name)![1]), script] as const;
    });
  const [[oldest], [newest]] = [scripts[0]!, scripts.at(-1)!];
  return {
    newest,
    /** Returns whether the scripts create or migrate a schema with this number. 0 means that nothing was created yet. */
    knows: (version: number) => version === 0 || (version >= oldest && version <= newest),
    /** Returns the scripts that a schema with this number lacks, with the numbers that they lead to. */
    scriptsAfter: (version: number) => scripts.filter(([number]) => number > version),
    /** Returns the refusal of a schema that the scripts do not know. `by` is the version that used it last, if known. */
    refuseSchema(what: string, version: number, by?: string): Refusal {
      const found = (other: string, supported: string) =>
        `${what} was written by ${other} (schema ${version}; this version, ${VERSION}, supports ${supported}). `;
      if (version < oldest)
        return refuseCommand(
          found('Storeroom before its first release', oldest === newest ? `${newest}` : `${oldest} to ${newest}`) +
            'Export its records with the version that used it last, and import them into a new store.',
        );
      const needed = by === undefined || by === VERSION ? 'the version that used it last' : `Storeroom ${by} or newer`;
      return refuseCommand(
        found('a newer version of Storeroom', String(newest)) +
          `Install ${needed}, or restore a backup from before the upgrade.`,
      );
    },
  };
}
