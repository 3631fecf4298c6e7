/**
 * Hides secrets in the texts of callers, whether plain, in base64 or in hex, also percent-encoded or escaped. Hides
 * every value whose name suggests a secret (decision 0022). Encrypts secrets that the store keeps.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** The text that replaces a hidden one. */
export const HIDDEN = '…';

/** Maximum escapes within escapes that are decoded. Repeated percent-encoding counts once. */
const DEPTH_MAX = 6;

const PLAIN = /(sr_sk_)[0-9A-Za-z]+|(whsec_)[\w+/=-]+/g;
const BEGINNINGS = ['sr_sk_', 'whsec_'];
const SECRET = new RegExp(BEGINNINGS.join('|'));
/** The beginning of a secret in hex, and in base64 after 0, 1 or 2 other bytes, without the characters they share. */
const ENCODED = new RegExp(
  BEGINNINGS.flatMap((beginning) => {
    const hex = Buffer.from(beginning).toString('hex');
    const base64 = [0, 1, 2].map((bytes) => btoa(' '.repeat(bytes) + beginning).slice(bytes && bytes + 1, bytes + 8));
    return [hex, hex.toUpperCase(), ...base64];
  }).join('|'),
);
const CREDENTIALS = /\bbearer\s+(?=\S*\d)[\w+/=.~-]{8}|:\/\/[^\s/@]*:[^\s/@]+@/i;
const BASIC = /\bbasic\s+([\w+/=-]{6,})/gi;
const SECRET_NAME =
  /^(?:proxy-)?authorization$|^(?:auth|pass|pwd)$|pass(?:word|wd|phrase)|secret|token|credential|api[-_ ]?key|cookie/i;
/** JSON that has nothing to hide in plain or escaped form does not match. */
const SUSPICIOUS =
  /[%\\]|:\/\/|basic\s|bearer\s|sr_sk_|whsec_|auth|pass|pwd|secret|token|credential|api[-_ ]?key|cookie/i;
const JSON_TEXT = /"[^"\\]*(?:\\.[^"\\]*)*"?/gs;
/** A name and its value, which is whole unless it is an object or a list. */
const MEMBER = /"([^"\\]*(?:\\.[^"\\]*)*)":("[^"\\]*(?:\\.[^"\\]*)*"?|[^,}\]"]+)/gs;

/** Returns the text without secrets, or HIDDEN if it contains an encoded secret. */
export function hideSecrets(text: string): string {
  const plain = decodeEscapes(text);
  return holdsCredentials(plain) || (plain !== text && SECRET.test(plain))
    ? HIDDEN
    : text.replace(PLAIN, `$1$2${HIDDEN}`);
}

/** Returns whether the value of a parameter or field with this name is always hidden. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(decodeEscapes(name));

/** Returns JSON without secrets in its texts and members. Hides all of it if a secret could be spread over members. */
export function hideSecretsInJson(json: string): string {
  if (!SUSPICIOUS.test(json) && !ENCODED.test(json)) return json;
  const shown = json.replace(JSON_TEXT, (quoted) => {
    const text = hideSecrets(quoted.slice(1));
    return text === HIDDEN ? `"${HIDDEN}"` : `"${text}`;
  });
  let isSpread = false;
  const members = shown.replace(MEMBER, (member: string, name: string, value: string) => {
    isSpread ||= name.toLowerCase() === 'field' && isSecretName(value.slice(1, -1));
    if (!isSecretName(name)) return member;
    isSpread ||= /^[{[]/.test(value);
    return `"${name}":"${HIDDEN}"`;
  });
  return isSpread ? `"${HIDDEN}"` : members;
}

/** Returns whether a text without escapes contains credentials, other than a plain secret. */
const holdsCredentials = (text: string): boolean =>
  CREDENTIALS.test(text) ||
  // Tools break long lines of base64 and hex.
  ENCODED.test(text.replaceAll(/[\r\n]/g, '')) ||
  text.matchAll(BASIC).some(([, pair]) => Buffer.from(pair!, 'base64').includes(':'));

/**
 * Removes percent-encoding, and the escapes of JSON and JavaScript. Reads a run of backslashes only from its beginning,
 * since reading it from each backslash would take quadratic time.
 */
function decodeEscapes(text: string, depth = DEPTH_MAX): string {
  if (depth === 0 || !/[%\\]/.test(text)) return text;
  const toCharacter = (_: string, digits: string) => String.fromCharCode(Number.parseInt(digits, 16));
  const decoded = text
    .replace(/%(?:25)+/g, '%')
    .replace(/(?:%|(?<!\\)\\+x)([0-9a-f]{2})/gi, toCharacter)
    .replace(/(?<!\\)\\+u([0-9a-f]{4})/gi, toCharacter);
  if (decoded !== text) return decodeEscapes(decoded, depth - 1);
  return text.replaceAll(/(?<!\\)\\+[nrt]/g, '\n').replaceAll('\\', '');
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
