/**
 * The scripts of a kind of schema: `KIND-NNNN.sql`. The first script creates the schema with its number, and each later
 * one migrates it to the next number. Released scripts never change. Source: decision 0062.
 */
import { listAssets, readAsset, VERSION } from '../../assets.ts';
import { refuseCommand, type Refusal } from '../../errors.ts';

export interface SchemaScripts {
  readonly newest: number;
  /** Returns whether the scripts create or migrate a schema with this number. 0 means that nothing was created yet. */
  readonly knows: (version: number) => boolean;
  /** Returns the scripts that a schema with this number lacks, with the numbers that they lead to. */
  readonly scriptsAfter: (version: number) => readonly (readonly [number: number, script: string])[];
  /** Returns the refusal of a schema that the scripts do not know. `by` is the version that used it last, if known. */
  readonly refuseSchema: (what: string, version: number, by?: string) => Refusal;
}

/** Loads the scripts of a kind from a folder, whose name ends with a slash. */
export function loadSchema(folder: string, kind: string): SchemaScripts {
  const scripts = listAssets(folder)
    .filter((name) => name.startsWith(`${folder}${kind}-`))
    .map((name) => [Number(/(\d+)\.sql$/.exec(name)![1]), readAsset(name).toString()] as const);
  const [[oldest], [newest]] = [scripts[0]!, scripts.at(-1)!];
  return {
    newest,
    knows: (version) => version === 0 || (version >= oldest && version <= newest),
    scriptsAfter: (version) => scripts.filter(([number]) => number > version),
    refuseSchema(what, version, by) {
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
