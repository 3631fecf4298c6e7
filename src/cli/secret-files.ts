/** Reads secrets as Docker and Kubernetes provide them: `STOREROOM_DATABASE_URL_FILE` names a file with the value. */
import { readFileSync } from 'node:fs';
import { SETTINGS, type Environment } from '../config.ts';
import { Refusal } from '../errors.ts';

/**
 * Returns the environment with the value of that file, read on first use. Throws WRONG_SETTING if the file cannot be
 * read.
 */
export function readSecretFiles(environment: Environment): Environment {
  const { variable } = SETTINGS.databaseUrl;
  const name = `${variable}_FILE`;
  const { [name]: file, ...others } = environment;
  if (!file) return others;
  return {
    ...others,
    get [variable]() {
      if (others[variable]) throw new Refusal('WRONG_SETTING', `Set either ${variable} or ${name}, not both.`);
      try {
        return readFileSync(file, 'utf8').trim();
      } catch (fault) {
        const { code } = fault as NodeJS.ErrnoException;
        throw new Refusal('WRONG_SETTING', `${name} is '${file}', which cannot be read (${code}).`);
      }
    },
  };
}
