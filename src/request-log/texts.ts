/** Formats the texts of callers as JSON for the request log, cut and without secrets. Source: decision 0022. */
import { CALLER_PARAMETERS } from '../tenant/credentials.ts';
import { HIDDEN, hideSecrets, hideSecretsInJson, isSecretName } from '../tenant/secrets.ts';
import { VALUE_CHARACTERS_MAX } from './log-bounds.ts';

/** A text that needs no escape in JSON, and is too short for a secret. */
const PLAIN = /^[ !#-[\]-~]{0,24}$/;
/** Length of the part that is searched for secrets. It exceeds the part shown by more than an encoded secret. */
const SEARCHED_CHARACTERS_MAX = 2048;
const BODY_SEARCHED_MAX = 8192;
const LONG_TEXT = /"([^"\\]*(?:\\.[^"\\]*)*)"/gs;
/** The name that counts the parameters for which there is no space. */
const MORE = '…';

/** Returns the first characters of a text, without half a surrogate pair. */
export const cut = (text: string, most: number): string =>
  text.length > most ? text.slice(0, most).toWellFormed() : text;

/** Returns the beginning of a text, with an ellipsis when it is longer. */
const shorten = (text: string, most: number) => (text.length > most ? `${cut(text, most - 1)}…` : text);

/** Formats a text without secrets as JSON within a number of characters and bytes. */
export function formatText(text: string | null, charactersMax: number, bytesMax: number): string {
  if (text === null) return 'null';
  return PLAIN.test(text)
    ? `"${text}"`
    : formatShown(hideSecrets(text.slice(0, SEARCHED_CHARACTERS_MAX)), charactersMax, bytesMax);
}

function formatShown(shown: string, charactersMax: number, bytesMax: number): string {
  const text = shorten(shown, charactersMax);
  const json = JSON.stringify(text);
  const bytes = json.length * 3 > bytesMax ? Buffer.byteLength(json) : 0;
  return bytes <= bytesMax
    ? json
    : formatShown(text, Math.max(1, Math.floor((text.length * (bytesMax - 4)) / bytes)), bytesMax);
}

/** Formats the parameters except those that name the caller. Those without space are counted under `…`. */
export function formatQuery(query: Readonly<Record<string, unknown>>, bytesMax: number): string {
  let [text, bytes, left] = ['', 0, 0];
  for (const name in query) {
    if (CALLER_PARAMETERS.includes(name)) continue;
    const pair = bytes < bytesMax ? formatParameter(name, query[name], bytesMax) : '';
    bytes += Buffer.byteLength(pair) + 1;
    if (pair === '' || bytes > bytesMax) left++;
    else text += `${text === '' ? '{' : ','}${pair}`;
  }
  if (left > 0) text += `${text === '' ? '{' : ','}"${MORE}":"${left}"`;
  return text === '' ? '{}' : `${text}}`;
}

function formatParameter(name: string, value: unknown, bytesMax: number): string {
  const shown = isSecretName(name) ? HIDDEN : String(value);
  const nameBytesMax = Math.floor(bytesMax / 3);
  const quoted = formatText(name, VALUE_CHARACTERS_MAX, nameBytesMax);
  return `${quoted}:${formatText(shown, VALUE_CHARACTERS_MAX, bytesMax - nameBytesMax - 2)}`;
}

/** Formats the beginning of a JSON body, with long texts cut, as JSON within a number of bytes. */
export function formatBody(body: string, bytesMax: number): string {
  const shown = hideSecretsInJson(body.slice(0, BODY_SEARCHED_MAX));
  return formatShown(
    shown.length > VALUE_CHARACTERS_MAX ? shown.replace(LONG_TEXT, cutQuoted) : shown,
    Infinity,
    bytesMax,
  );
}

const cutQuoted = (quoted: string) =>
  quoted.length > VALUE_CHARACTERS_MAX + 2
    ? JSON.stringify(shorten(JSON.parse(quoted) as string, VALUE_CHARACTERS_MAX))
    : quoted;
