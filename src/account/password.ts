/**
 * Hashes and checks passwords (Argon2id), and refuses weak ones. Hashing gives a verifier, which is stored, and a key,
 * which is not: only the password opens a secret that the key has sealed. Source: RFC 9106, decision 0023.
 */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { refuseField } from '../errors.ts';
import { PASSWORD_MAX, PASSWORD_MIN } from './account-bounds.ts';
import type { PasswordHash, UserName } from './account-port.ts';

/**
 * Maximum characters that the strength check examines, and maximum readings of digits as letters that it tries. The
 * check blocks the event loop for 6 ms; with 100 characters and 100 readings it took 50 ms.
 */
const ESTIMATED_MAX = 64;
const LETTER_READINGS_MAX = 10;
/** Minimum score, from 0 to 4. A score of 3 means more than 10^8 guesses by common passwords, words and patterns. */
const SCORE_MIN = 3;
/** Minimum length of a password after the words that an attacker tries first are removed from it. */
const OWN_CHARACTERS_MIN = 10;

const MEMORY_KIB = 19_456;
const PASSES = 2;
const SALT_BYTES = 16;
const HALF_BYTES = 32;
const PREFIX = `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=1$`;
const FORM = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=1\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;
/** A hash that matches no password. Users without a password are checked against it, which takes equally long. */
const NOBODY: PasswordHash = `${PREFIX}${'A'.repeat(22)}$${'A'.repeat(43)}`;

const REASONS: Readonly<Record<string, string>> = {
  straightRow: 'a row of keys',
  keyPattern: 'neighbouring keys',
  simpleRepeat: 'repetition',
  extendedRepeat: 'repetition',
  sequences: 'a sequence such as abc or 6543',
  dates: 'a date',
};

/**
 * Hashes a password, for which the caller waits in a Line. `hash` is `$argon2id$v=19$m=…,t=…,p=1$salt$verifier` with
 * salt and verifier in base64; `key` has 32 bytes.
 */
export async function hashPassword(password: string) {
  const salt = randomBytes(SALT_BYTES);
  const { verifier, key } = await derive(password, salt, MEMORY_KIB, PASSES);
  return { hash: `${PREFIX}${encode(salt)}$${encode(verifier)}`, key };
}

/** Checks a password against a hash. The hash '' matches no password and takes equally long. */
export async function checkPassword(password: string, hash: PasswordHash) {
  const isPossible = hash !== '' && isWhole(password);
  const parts = FORM.exec(isPossible ? hash : NOBODY);
  if (!parts) throw new Error('A stored password hash does not have the form that this version writes.');
  const [, memory, passes, text, kept] = parts;
  const salt = Buffer.from(text!, 'base64');
  const { verifier, key } = await derive(isPossible ? password : '', salt, Number(memory), Number(passes));
  return { matches: timingSafeEqual(verifier, Buffer.from(kept!, 'base64')) && isPossible, key };
}

/** Throws WEAK_PASSWORD for a weak password. Nothing is trimmed, and no kind of character is required. */
export async function checkStrength(password: string, name: UserName, field = 'password'): Promise<void> {
  const length = Array.from(password).length;
  const has = `The password has ${length} ${length === 1 ? 'character' : 'characters'}`;
  const fault =
    length < PASSWORD_MIN
      ? `${has}. Use at least ${PASSWORD_MIN}, for example four unrelated words.`
      : length > PASSWORD_MAX
        ? `${has}. Use at most ${PASSWORD_MAX}.`
        : !password.isWellFormed()
          ? 'The password contains an invalid character. Enter it again.'
          : await findWeakness(password, wordsOf(name));
  if (fault !== undefined) throw refuseField('WEAK_PASSWORD', field, fault);
}

async function findWeakness(password: string, words: readonly string[]): Promise<string | undefined> {
  const remedy = 'Use four unrelated words, or let a password manager create one.';
  const characters = Array.from(password).slice(0, ESTIMATED_MAX).join('');
  let rest = characters.toLowerCase();
  for (const word of words) rest = rest.replaceAll(word, '');
  if (Array.from(rest).length < OWN_CHARACTERS_MIN)
    return (
      'The password is little more than the team ID, the email address or the name of this service, ' +
      `which attackers try first. ${remedy}`
    );
  const { score, feedback } = (await loadEstimator()).check(characters, [...words]);
  if (score >= SCORE_MIN) return undefined;
  const reason = REASONS[feedback.warning ?? ''] ?? 'common passwords or words';
  return `The password is too easy to guess: much of it is ${reason}. ${remedy}`;
}

/** Returns the words that someone who knows the user tries first, longest first. */
function wordsOf({ teamId, email }: UserName): string[] {
  const words = ['storeroom', teamId, email, ...teamId.split(/[^\p{L}\p{N}]+/u), ...email.split(/[^\p{L}\p{N}]+/u)];
  return [...new Set(words.map((word) => word.toLowerCase()))]
    .filter((word) => word.length >= 3)
    .toSorted((a, b) => b.length - a.length);
}

type Estimator = InstanceType<(typeof import('@zxcvbn-ts/core'))['ZxcvbnFactory']>;
let estimator: Promise<Estimator> | undefined;

/** Loads the strength check when the first password is set, since loading takes long. */
function loadEstimator(): Promise<Estimator> {
  const importEstimator = async (): Promise<Estimator> => {
    const [{ ZxcvbnFactory }, { dictionary, adjacencyGraphs }] = await Promise.all([
      import('@zxcvbn-ts/core'),
      import('@zxcvbn-ts/language-common'),
    ]);
    const options = { dictionary, graphs: adjacencyGraphs, l33tMaxSubstitutions: LETTER_READINGS_MAX };
    return new ZxcvbnFactory(options);
  };
  return (estimator ??= importEstimator());
}

/** Returns whether a text can be a password. Different texts with lone surrogates can be equal in UTF-8. */
const isWhole = (password: string) => password.length <= 2 * PASSWORD_MAX && password.isWellFormed();

const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+$/, '');

/** Derives 64 bytes: the first half is the verifier, the second half the key. Neither reveals the other. */
async function derive(password: string, nonce: Uint8Array, memory: number, passes: number) {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const cost = { parallelism: 1, memory, passes };
  const parameters = { message: Buffer.from(password, 'utf8'), nonce, tagLength: 2 * HALF_BYTES, ...cost };
  argon2('argon2id', parameters, (fault, tag) => (fault ? reject(fault) : resolve(tag)));
  const tag = await promise;
  return { verifier: tag.subarray(0, HALF_BYTES), key: tag.subarray(HALF_BYTES) };
}
