/** The values that the service saves for commands when it starts, and the refusal of a store of a newer version. */
import { VERSION } from '../../assets.ts';
import { row, statement } from '../writing.ts';
import { commit, type ControlDatabase } from './control.ts';

/**
 * `version` is the version of the service, `origin` its scheme, host and port, `identity` the identity of the embedded
 * store.
 */
type InstallationName = 'version' | 'origin' | 'identity';

/** Selects the value of a name. */
export const selectInstallation = (schema: string): string =>
  `SELECT "VALUE" FROM ${schema}"INSTALLATION" WHERE "NAME" = ?`;

export interface Installation {
  /** Returns undefined before the first start of a service. */
  load(name: InstallationName): Promise<string | undefined>;
  save(values: Readonly<Record<Exclude<InstallationName, 'identity'>, string>>): Promise<void>;
}

export const makeInstallation = (db: ControlDatabase): Installation => ({
  load: async (name) => (await db.read<[string]>(selectInstallation(db.schema), name))[0]?.[0],
  save: (values) =>
    commit(db, function* () {
      // Reads first, so that nodes that start together on PostgreSQL write only if a value changes.
      for (const [name, value] of Object.entries(values)) {
        const found = yield* row<[string]>(selectInstallation(db.schema), name);
        if (found?.[0] === value) continue;
        const insert = `INSERT INTO ${db.schema}"INSTALLATION" ("NAME", "VALUE") VALUES (?, ?)`;
        yield statement(`${insert} ON CONFLICT ("NAME") DO UPDATE SET "VALUE" = EXCLUDED."VALUE"`, name, value);
      }
    }),
});

/** The refusal of a store with tables that this program does not know. The store is unchanged. */
export class NewerStore extends Error {
  /** `by` is the version of the service that used it last, if it is known. */
  constructor(what: string, found: number, known: number, by?: string) {
    const needed = by === undefined || by === VERSION ? 'the version that used it last' : `Storeroom ${by} or newer`;
    super(
      `${what} was written by a newer version of Storeroom (schema ${found}; this version, ${VERSION}, supports ${known}). ` +
        `Install ${needed}, or restore a backup from before the upgrade.`,
    );
    this.name = 'NewerStore';
  }
}
