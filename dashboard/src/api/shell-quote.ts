/**
 * Quoting a text as one word of a POSIX shell (sh, bash, zsh), for commands that are shown to be copied. Nothing in the word is expanded or run.
 * Joins no words: what a command consists of is its caller's.
 */

/** Example: `shellQuote("it's")` gives `'it'\''s'`; a word the shell leaves as it is comes back without quotes. */
export function shellQuote(word: string): string {
  // A shell cannot hand a NUL to a command; left in, it would cut the word short without a sign.
  const sent = word.replaceAll('\0', '');
  return /^[\w@%+:,./-]+$/.test(sent) && !sent.startsWith('-') ? sent : `'${sent.replaceAll("'", "'\\''")}'`;
}
