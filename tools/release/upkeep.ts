/**
 * `npm run upkeep` asks the registry about the packages that package.json and mcp/package.json name. It fails if one
 * that is shipped has a known vulnerability, if that cannot be found out, or if npm has a newer Node of the line. It
 * also lists outdated packages, as npm does under this Node and not under an older one, deprecated ones, and those that
 * are over a year old.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

interface Manifest {
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}

/** A version that is current and one that is the newest, as `npm outdated` names them. */
interface Outdated {
  readonly current?: string;
  readonly latest: string;
}

/** The answer of `npm view` about one version: the times of all versions, and why this one is deprecated. */
interface View {
  readonly time?: Record<string, string>;
  readonly deprecated?: string;
}

const MONTHS_MAX = 12;
const VIEWS_MAX = 4;
const OUTPUT_BYTES_MAX = 1 << 26;

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
const nodes = Object.entries(manifest.optionalDependencies ?? {});
const ofMcp = existsSync('mcp/package.json') ? (JSON.parse(readFileSync('mcp/package.json', 'utf8')) as Manifest) : {};
const packages = { ...manifest.dependencies, ...manifest.devDependencies, ...ofMcp.dependencies };
const problems: string[] = [];
const deprecated: string[] = [];

list('Outdated', await findOutdated());
list(`Over ${MONTHS_MAX} months old`, await findAged());
list('Deprecated', deprecated.toSorted());
list('Newer Nodes of the line on npm', await findNewerNodes());
await audit();
list('Stops a release', problems);
process.exitCode = problems.length === 0 ? 0 : 1;

function list(title: string, lines: readonly string[]): void {
  console.log([`${title}:`, ...(lines.length > 0 ? lines : ['none'])].join('\n  '));
}

/** Runs npm under this Node, and returns the JSON that it prints, also if it fails. Returns undefined without JSON. */
async function ask(...words: string[]): Promise<unknown> {
  const program = process.env['npm_execpath'] ?? findNpm();
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...words, '--json'], {
    maxBuffer: OUTPUT_BYTES_MAX,
  }).catch((error: Error & { stdout: string }) => error);
  return stdout.trim() === '' ? undefined : (JSON.parse(stdout) as unknown);
}

function findNpm(): string {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter))
    try {
      return realpathSync(join(folder, 'npm'));
    } catch {
      // The next folder may have it.
    }
  throw new Error('There is no npm in PATH.');
}

async function findOutdated(): Promise<string[]> {
  const outdated = ((await ask('outdated')) ?? {}) as Record<string, Outdated>;
  return Object.entries(outdated)
    .filter(([name, { latest, current }]) => name in packages && latest !== current)
    .map(([name, { current = 'not installed', latest }]) => `${name} ${current}, now ${latest}`);
}

/** Returns the packages whose version was published too long ago, with its date. Notes the deprecated ones. */
async function findAged(): Promise<string[]> {
  const bound = new Date();
  bound.setMonth(bound.getMonth() - MONTHS_MAX);
  const waiting = Object.entries(packages);
  const found: string[] = [];
  const work = async (): Promise<void> => {
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
      const [name, version] = one;
      const view = (await ask('view', `${name}@${version}`)) as View | undefined;
      const time = view?.time?.[version];
      if (view?.deprecated !== undefined) deprecated.push(`${name} ${version}: ${view.deprecated}`);
      if (time === undefined) problems.push(`The registry does not say when ${name} ${version} was published.`);
      else if (new Date(time) < bound) found.push(`${name} ${version}: ${time.slice(0, 10)}`);
    }
  };
  await Promise.all(Array.from({ length: VIEWS_MAX }, work));
  return found.toSorted();
}

/** Returns the packages of Node of which npm has a newer version of the same line. */
async function findNewerNodes(): Promise<string[]> {
  const found = [];
  for (const [name, version] of nodes) {
    const versions = [await ask('view', `${name}@^${version}`, 'version')].flat();
    // Without an answer, npm prints the fault as an object.
    const named = versions.filter((one) => typeof one === 'string');
    const newest = named.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
    if (newest === version) continue;
    const line = `${name} ${version}: ${newest === undefined ? 'npm names none' : `npm has ${newest}`}`;
    found.push(line);
    problems.push(line);
  }
  return found;
}

async function audit(): Promise<void> {
  const report = (await ask('audit', '--omit=dev')) as
    | { vulnerabilities?: Record<string, { severity: string }>; message?: string }
    | undefined;
  if (report?.vulnerabilities === undefined) {
    const reason = report?.message ?? 'npm printed nothing';
    problems.push(
      `The registry does not say which packages are vulnerable (${reason}). Repeat this with one that does: npm_config_registry.`,
    );
    return;
  }
  for (const [name, { severity }] of Object.entries(report.vulnerabilities))
    problems.push(`${name} has a known vulnerability (${severity}): npm audit says more.`);
}
