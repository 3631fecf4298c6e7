/**
 * Hides secrets in the texts of callers, whether plain, escaped or percent-encoded any number of times, in base64 or in
 * hex. Hides every value whose name suggests a secret (decision 0022). Encrypts secrets that the store keeps.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** The text that replaces a hidden one. */
export const HIDDEN = '…';

/** Length of the parts of a long text, which overlap by half. A secret encoded twice has a few hundred characters. */
const PART_CHARACTERS = 2048;
/** Maximum depth of encodings within encodings. */
const DEPTH_MAX = 6;
/** Maximum decoded characters of a part, and of all parts of a body. A longer text is hidden. */
const PART_DECODED_MAX = 4 * 1024;
const BODY_DECODED_MAX = 16 * 1024;

const PLAIN = /(sr_sk_)[0-9A-Za-z]+|(whsec_)[\w+/=-]+/g;
const SECRET = /sr_sk_|whsec_/;
/** A text with an encoded secret matches one of these. A secret has 55 characters, or 74 in base64. */
const ESCAPE_OR_SCHEME = /[%\\]|:\/\/|basic\s|bearer\s/i;
const LONG_WORD = /(?:^|[^\w+/-])[\w+/-]{48}/;
const SHOWN_PLAINLY = /sr_sk_|whsec_|\bbearer\s+(?=\S*\d)[\w+/=.~-]{8}|:\/\/[^\s/@]*:[^\s/@]+@/i;
const BASIC = /\bbasic\s+([\w+/=-]{6,})/gi;
const ENCODED = /[\w+/-]{48,}/g;
const HEX = /[0-9a-f]{96,}/gi;
const SECRET_NAME =
  /^(?:proxy-)?authorization$|^(?:auth|pass|pwd)$|pass(?:word|wd|phrase)|secret|token|credential|api[-_ ]?key|cookie/i;
const SECRET_WORD = /auth|pass|pwd|secret|token|credential|api[-_ ]?key|cookie/i;
const JSON_TEXT = /"[^"\\]*(?:\\.[^"\\]*)*"?/gs;
/** A name and its value, which is whole unless it is an object or a list. */
const MEMBER = /"([^"\\]*(?:\\.[^"\\]*)*)":("[^"\\]*(?:\\.[^"\\]*)*"?|[^,}\]"]+)/gs;

/** The number of characters that may still be decoded. */
interface DecodeBudget {
  left: number;
}

/** Returns the text without secrets, or HIDDEN if it contains an encoded secret. */
export function hideSecrets(text: string, budget?: DecodeBudget): string {
  const shown = text.replace(PLAIN, `$1$2${HIDDEN}`);
  if (!isSuspicious(shown)) return shown;
  for (let from = 0; from === 0 || from + PART_CHARACTERS / 2 < text.length; from += PART_CHARACTERS / 2) {
    const part = text.slice(from, from + PART_CHARACTERS);
    if (holdsSecret(part, DEPTH_MAX, budget ?? { left: PART_DECODED_MAX })) return HIDDEN;
  }
  return shown;
}

const isSuspicious = (text: string) => ESCAPE_OR_SCHEME.test(text) || LONG_WORD.test(text);

/** Returns whether the value of a parameter or field with this name is always hidden. */
export const isSecretName = (name: string): boolean =>
  SECRET_NAME.test(/[%\\]/.test(name) ? decodeEscapes(name) : name);

/** Returns JSON without secrets in its texts and members. Hides all of it if a secret could be spread over members. */
export function hideSecretsInJson(json: string): string {
  const isOdd = isSuspicious(json) || SECRET.test(json);
  if (!isOdd && !SECRET_WORD.test(json)) return json;
  const shown = isOdd ? hideInTexts(json) : json;
  let isSpread = false;
  const members = shown.replace(MEMBER, (member: string, name: string, value: string) => {
    isSpread ||= name.toLowerCase() === 'field' && isSecretName(value.slice(1, -1));
    if (!isSecretName(name)) return member;
    isSpread ||= /^[{[]/.test(value);
    return `"${name}":"${HIDDEN}"`;
  });
  return isSpread ? `"${HIDDEN}"` : members;
}

function hideInTexts(json: string): string {
  const budget = { left: BODY_DECODED_MAX };
  return json.replace(JSON_TEXT, (quoted) => {
    const shown = hideSecrets(quoted.slice(1), budget);
    return shown === HIDDEN ? `"${HIDDEN}"` : `"${shown}`;
  });
}

function holdsSecret(text: string, depth: number, budget: DecodeBudget): boolean {
  if (SHOWN_PLAINLY.test(text)) return true;
  for (const [, pair] of text.matchAll(BASIC)) if (Buffer.from(pair!, 'base64').includes(':')) return true;
  budget.left -= text.length;
  if (depth === 0 || budget.left < 0) return true;
  const plain = decodeEscapes(text);
  if (plain !== text) return holdsSecret(plain, depth - 1, budget);
  // Tools break long lines of base64 and hex.
  for (const [run] of text.replaceAll(/\s/g, '').matchAll(ENCODED)) {
    for (const [digits] of run.matchAll(HEX))
      for (const from of [0, 1]) if (holdsDecoded(digits.slice(from), 'hex', depth, budget)) return true;
    // Characters of base64 may precede the secret, so it may begin at any of four offsets.
    for (const from of [0, 1, 2, 3]) if (holdsDecoded(run.slice(from), 'base64', depth, budget)) return true;
  }
  return false;
}

/** Searches a decoded text if it may contain a secret. Removes the NULs that UTF-16 has between characters. */
function holdsDecoded(text: string, encoding: 'hex' | 'base64', depth: number, budget: DecodeBudget): boolean {
  const decoded = Buffer.from(text, encoding).toString('latin1').replaceAll('\0', '');
  return (isSuspicious(decoded) || SECRET.test(decoded)) && holdsSecret(decoded, depth - 1, budget);
}

/**
 * Removes repeated percent-encoding, or the escapes of JSON and JavaScript. Reads a run of backslashes only from its
 * beginning, since reading it from each backslash would take quadratic time.
 */
function decodeEscapes(text: string): string {
  if (!/[%\\]/.test(text)) return text;
  const toCharacter = (_: string, digits: string) => String.fromCharCode(Number.parseInt(digits, 16));
  const decoded = text
    .replace(/%(?:25)+/g, '%')
    .replace(/(?:%|(?<!\\)\\+x)([0-9a-f]{2})/gi, toCharacter)
    .replace(/(?<!\\)\\+u([0-9a-f]{4})/gi, toCharacter);
  return decoded === text ? text.replaceAll(/(?<!\\)\\+[nrt]/g, ' ').replaceAll('\\', '') : decoded;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts a secret. Only the same 32-byte key and the same owner open it. */
export function sealFor(owner: string, secret: Uint8Array, key: Uint8Array): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(owner, 'utf8'));
  const body = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}

/** Returns the sealed secret; undefined when the key, the owner or a bit differs. */
export function openFor(owner: string, sealed: Uint8Array, key: Uint8Array): Buffer | undefined {
  if (sealed.length < IV_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(owner, 'utf8'))
    .setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}
