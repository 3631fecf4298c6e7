/**
 * Lists the third-party packages in a release, from the lockfile: the `dependencies` of the program and of the folder
 * `mcp`, and everything that they need, without tools that only build. Refuses bundles that contain another package.
 */
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ShippedPackage {
  readonly name: string;
  readonly version: string;
  /** The licence as an SPDX expression. */
  readonly licence: string;
  /** SHA-512 of the registry's archive in base64, from the lockfile. */
  readonly sha512: string;
  readonly author: string;
  readonly homepage: string | undefined;
  /** A key of the lockfile, such as `node_modules/pg`. */
  readonly path: string;
  /** Whether Storeroom depends on the package directly. */
  readonly isDirect: boolean;
  /** Paths of the packages that the package needs. */
  readonly needs: readonly string[];
  /** The texts of the package's licence and notice files. */
  readonly texts: readonly string[];
}

interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly dependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}

interface Manifest {
  readonly name: string;
  readonly license?: string;
  readonly author?: string | { readonly name: string };
  readonly homepage?: string;
}

/** Tools that leave none of their code in the files that they build. */
const BUILD_TOOLS = new Set(['node_modules/vite']);
const TEXTS = /^(licen[cs]e|copying|notice)\b/i;
/** Matches the package of a source in a source map: the name after the last `node_modules` of its path. */
const PACKAGE_OF_SOURCE = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//;

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const byCode = (a: string, b: string): number => (a < b ? -1 : 1);

/** Whether a key of the lockfile is a folder of this repository: `` or `mcp`. */
export const isOwn = (path: string): boolean => !path.includes('node_modules/');

const readLock = (root: string): Record<string, Locked> =>
  (readJson(join(root, 'package-lock.json')) as { packages: Record<string, Locked> }).packages;

/** Returns the packages, sorted by name and version. */
export function listShipped(root: string): ShippedPackage[] {
  const packages = readLock(root);
  const direct = Object.keys(packages)
    .filter(isOwn)
    .flatMap((path) => resolveAll(packages, path, Object.keys(packages[path]!.dependencies ?? {})));
  const directPaths = new Set(direct.filter((path) => !BUILD_TOOLS.has(path)));
  const shipped = new Map<string, ShippedPackage>();
  const add = (path: string): void => {
    if (shipped.has(path)) return;
    const locked = packages[path]!;
    const names = Object.keys({ ...locked.dependencies, ...locked.optionalDependencies });
    const needs = resolveAll(packages, path, names);
    shipped.set(path, { ...describePackage(root, path, locked), isDirect: directPaths.has(path), needs });
    needs.forEach(add);
  };
  for (const path of directPaths) add(path);
  return [...shipped.values()].toSorted((a, b) => byCode(`${a.name}@${a.version}`, `${b.name}@${b.version}`));
}

/** Returns the npm packages of Node, one for each platform, with their versions. */
export function listNodePackages(root: string): Pick<ShippedPackage, 'name' | 'version' | 'sha512'>[] {
  const packages = readLock(root);
  const names = Object.keys(packages['']!.optionalDependencies ?? {}).toSorted(byCode);
  return names.map((name) => {
    const { version, integrity } = packages[`node_modules/${name}`]!;
    return { name, version, sha512: readSha512(name, integrity) };
  });
}

/** Throws if the compiled program or the dashboard contains a package that is not in the list. */
export function checkBundles(root: string, shipped: readonly ShippedPackage[]): void {
  const names = new Set(shipped.map(({ name }) => name));
  for (const name of [...listServerPackages(join(root, 'build/server')), ...listDashboardPackages(root)])
    if (!names.has(name))
      throw new Error(`The bundle holds ${name}, which is in no list of dependencies. Add it to "dependencies".`);
}

/** Returns the names of the packages in the dashboard, which Vite lists. */
export const listDashboardPackages = (root: string): string[] =>
  (readJson(join(root, 'dashboard/dist/.vite/license.json')) as { name: string }[]).map(({ name }) => name);

function listServerPackages(folder: string): string[] {
  const maps = globSync('*.map', { cwd: folder });
  if (maps.length === 0) throw new Error(`There is no source map in ${folder}: run npm run build.`);
  return maps
    .flatMap((map) => (readJson(join(folder, map)) as { sources: string[] }).sources)
    .flatMap((source) => PACKAGE_OF_SOURCE.exec(source)?.[1] ?? []);
}

const resolveAll = (packages: Record<string, Locked>, from: string, names: readonly string[]): string[] =>
  names.flatMap((name) => resolvePackage(packages, from, name) ?? []);

/** Finds a package as Node does: in the nearest `node_modules` on the way up. */
function resolvePackage(packages: Record<string, Locked>, from: string, name: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const path = `${at === '' ? '' : `${at}/`}node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (at === '') return undefined;
  }
}

function describePackage(
  root: string,
  path: string,
  { version, integrity }: Locked,
): Omit<ShippedPackage, 'needs' | 'isDirect'> {
  const folder = join(root, path);
  const { name, license, author, homepage } = readJson(join(folder, 'package.json')) as Manifest;
  const files = readdirSync(folder).filter((file) => TEXTS.test(file));
  return {
    name,
    version,
    licence: license ?? 'not named',
    sha512: readSha512(name, integrity),
    author: (typeof author === 'string' ? author : author?.name) ?? name,
    homepage,
    path,
    texts: files.toSorted(byCode).map((file) => readFileSync(join(folder, file), 'utf8').trim()),
  };
}

function readSha512(name: string, integrity = ''): string {
  const found = /sha512-(\S+)/.exec(integrity)?.[1];
  if (found === undefined) throw new Error(`The lockfile has no SHA-512 of ${name}.`);
  return found;
}
