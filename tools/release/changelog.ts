/** CHANGELOG.md: what is unreleased, which version that makes, and the file and the notes of that release. */

const UNRELEASED = '## [Unreleased]';

/** The text below a heading such as `## [0.2.0] - 2026-11-22`, up to the next. Throws when there is none. */
export function readSection(changelog: string, heading: string): string {
  const start = changelog.indexOf(`\n${heading}`);
  if (start === -1) throw new Error(`CHANGELOG.md has no "${heading}".`);
  const [, ...lines] = changelog.slice(start + 1).split('\n');
  const end = lines.findIndex((line) => line.startsWith('## '));
  return lines
    .slice(0, end === -1 ? undefined : end)
    .join('\n')
    .trim();
}

/** Throws when nothing is unreleased. */
export function readUnreleased(changelog: string): string {
  const text = readSection(changelog, UNRELEASED);
  if (!/^- /m.test(text)) throw new Error('CHANGELOG.md has no entry under Unreleased: there is nothing to release.');
  return text;
}

/**
 * After a version: the next minor one, or the next patch when nothing was added, changed or removed. The same where it
 * was raised since the last release.
 */
export function chooseVersion(last: string, changelog: string): string {
  if (!changelog.includes(`\n## [${last}]`)) return last;
  const unreleased = readUnreleased(changelog);
  const [major = 0, minor = 0, patch = 0] = last.split('.').map(Number);
  const isMinor = /^### (Added|Changed|Deprecated|Removed)$/m.test(unreleased);
  return isMinor ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}

/** The file with what was unreleased under the version and a day such as 2026-11-22. */
export function closeUnreleased(changelog: string, version: string, day: string): string {
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n\n## [${version}] - ${day}`);
}
