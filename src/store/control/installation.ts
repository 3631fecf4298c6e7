/** What the service that started last leaves for commands, and what is said of a store that a newer one has written. */
import { VERSION } from '../../assets.ts';
import { row, run } from '../writing.ts';
import { commit, type ControlDatabase } from './database.ts';

/** `version`: of the service; `origin`: scheme, host and port at which it is reached; `identity`: of the embedded store. */
export type InstallationName = 'version' | 'origin' | 'identity';

/** Gives the value of the name. */
export const selectInstallation = (schema: string): string =>
  `SELECT "VALUE" FROM ${schema}"INSTALLATION" WHERE "NAME" = ?`;

export class SqlInstallation {
  readonly #db: ControlDatabase;

  constructor(db: ControlDatabase) {
    this.#db = db;
  }

  /** undefined before the first start of a service. */
  async load(name: InstallationName): Promise<string | undefined> {
    const [found] = await this.#db.read<[string]>(selectInstallation(this.#db.schema), name);
    return found?.[0];
  }

  async save(values: Readonly<Record<Exclude<InstallationName, 'identity'>, string>>): Promise<void> {
    const { schema } = this.#db;
    const sql = `INSERT INTO ${schema}"INSTALLATION" ("NAME", "VALUE") VALUES (?, ?)
      ON CONFLICT ("NAME") DO UPDATE SET "VALUE" = EXCLUDED."VALUE"`;
    await commit(this.#db, function* () {
      // Read first: on PostgreSQL, nodes that start together then change nothing when nothing changes.
      for (const [name, value] of Object.entries(values)) {
        const found = yield* row<[string]>(selectInstallation(schema), name);
        if (found?.[0] !== value) yield* run(sql, name, value);
      }
    });
  }
}

/** A store has tables that this program does not know. Nothing of it was changed. */
export class NewerStore extends Error {
  /** `by` is the version of the service that used it last, if it is known. */
  constructor(what: string, found: number, known: number, by?: string) {
    const needed = by === undefined || by === VERSION ? 'the version that used it last' : `Storeroom ${by} or newer`;
    super(
      `${what} was written by a newer version of Storeroom (schema ${found}, this one, ${VERSION}, knows ${known}). ` +
        `Install ${needed}, or restore a backup made before the upgrade.`,
    );
    this.name = 'NewerStore';
  }
}
