/** Reads the unreleased entries of CHANGELOG.md, chooses their version, and makes the file and notes of the release. */

const UNRELEASED = '## [Unreleased]';

/** Returns the text below a heading such as `## [0.2.0] - 2026-11-22`, up to the next one. Throws if it is missing. */
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

/** Returns the unreleased entries. Throws if there are none. */
export function readUnreleased(changelog: string): string {
  const text = readSection(changelog, UNRELEASED);
  if (!/^- /m.test(text)) throw new Error('CHANGELOG.md has no entry under Unreleased: there is nothing to release.');
  return text;
}

/**
 * Returns the next minor version, or the next patch if nothing was added, changed, deprecated or removed. Returns
 * `last` itself if it is not released yet.
 */
export function chooseVersion(last: string, changelog: string): string {
  if (!changelog.includes(`\n## [${last}]`)) return last;
  const unreleased = readUnreleased(changelog);
  const [major = 0, minor = 0, patch = 0] = last.split('.').map(Number);
  const isMinor = /^### (Added|Changed|Deprecated|Removed)$/m.test(unreleased);
  return isMinor ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}

/** Returns the file with the unreleased entries moved under the version and a day such as 2026-11-22. */
export function closeUnreleased(changelog: string, version: string, day: string): string {
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n\n## [${version}] - ${day}`);
}
