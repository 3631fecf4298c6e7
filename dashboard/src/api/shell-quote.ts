/**
 * Quotes a text as one word of a POSIX shell (sh, bash, zsh), for commands that people copy.
 */

/** Example: `shellQuote("it's")` gives `'it'\''s'`; a word that the shell does not change is returned without quotes. */
export function shellQuote(word: string): string {
  // A shell cannot hand a NUL to a command; left in, it would cut the word short without a sign.
  const sent = word.replaceAll('\0', '');
  return /^[\w@%+:,./-]+$/.test(sent) && !sent.startsWith('-') ? sent : `'${sent.replaceAll("'", "'\\''")}'`;
}
