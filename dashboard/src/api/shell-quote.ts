/**
 * Quotes a text as one word of a POSIX shell (sh, bash, zsh), for commands that people copy.
 */

/** Example: `shellQuote("it's")` gives `'it'\''s'`; a word that the shell does not change is returned without quotes. */
export function shellQuote(word: string): string {
  // A shell cannot pass a NUL to a command. A NUL would silently truncate the word.
  const sent = word.replaceAll('\0', '');
  return /^[\w@%+:,./-]+$/.test(sent) && !sent.startsWith('-') ? sent : `'${sent.replaceAll("'", "'\\''")}'`;
}
