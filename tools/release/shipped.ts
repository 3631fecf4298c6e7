/**
 * Lists the third-party packages in a release: those with a module in the bundle of the program or of the dashboard, and
 * the one whose script the reference shows.
 * The lockfile says which version each is, and what it needs. A package that is only for development is refused.
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
  /** Whether only devDependencies need the package. */
  readonly dev?: boolean;
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

/** The package in docs/dist/js/scalar.js.gz. */
export const REFERENCE = '@scalar/fastify-api-reference';
const TEXTS = /^(licen[cs]e|copying|notice)\b/i;
/** Matches the package of a source in a source map, as the lockfile names it. */
const PACKAGE_OF_SOURCE = /node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+/;

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const byCode = (a: string, b: string): number => (a < b ? -1 : 1);

/** Whether a key of the lockfile is a folder of this repository: `` or `mcp`. */
export const isOwn = (path: string): boolean => !path.includes('node_modules/');

const readLock = (root: string): Record<string, Locked> =>
  (readJson(join(root, 'package-lock.json')) as { packages: Record<string, Locked> }).packages;

/** Returns the packages in `server`, the compiled program, and in its pages, sorted by name and version. */
export function listShipped(root: string, server = join(root, 'build/server')): ShippedPackage[] {
  const packages = readLock(root);
  const reference = `node_modules/${REFERENCE}`;
  const paths = new Set([...listServerPaths(server), ...listDashboardPaths(root, packages), reference]);
  const direct = new Set(
    Object.keys(packages)
      .filter(isOwn)
      .flatMap((path) => resolveNeeds(packages, path)),
  );
  // A package between two others may leave nothing in the bundle.
  const findNeeds = (path: string, seen = new Set([path])): string[] =>
    resolveNeeds(packages, path).flatMap((needed) => {
      if (paths.has(needed)) return [needed];
      return seen.has(needed) ? [] : findNeeds(needed, seen.add(needed));
    });
  return [...paths]
    .map((path) => {
      const locked = packages[path];
      if (!locked || locked.dev)
        throw new Error(`The bundle holds ${path}, which "dependencies" neither name nor need. Add it to them.`);
      return { ...describePackage(root, path, locked), isDirect: direct.has(path), needs: findNeeds(path) };
    })
    .toSorted((a, b) => byCode(`${a.name}@${a.version}`, `${b.name}@${b.version}`));
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

/** Returns the packages in the dashboard, which Vite lists by name and version. */
function listDashboardPaths(root: string, packages: Record<string, Locked>): string[] {
  const listed = readJson(join(root, 'dashboard/dist/.vite/license.json')) as { name: string; version: string }[];
  return listed.map(({ name, version }) => {
    const isIt = (path: string) => path.endsWith(`node_modules/${name}`) && packages[path]!.version === version;
    return Object.keys(packages).find(isIt) ?? `${name} ${version}`;
  });
}

function listServerPaths(folder: string): string[] {
  const maps = globSync('*.map', { cwd: folder });
  if (maps.length === 0) throw new Error(`There is no source map in ${folder}: run npm run build.`);
  return maps
    .flatMap((map) => (readJson(join(folder, map)) as { sources: string[] }).sources)
    .flatMap((source) => PACKAGE_OF_SOURCE.exec(source)?.[0] ?? []);
}

/** Returns the paths of what a package needs, or of what a folder of this repository needs to run. */
function resolveNeeds(packages: Record<string, Locked>, from: string): string[] {
  const { dependencies, optionalDependencies } = packages[from]!;
  const names = Object.keys({ ...dependencies, ...(!isOwn(from) && optionalDependencies) });
  return names.flatMap((name) => resolvePackage(packages, from, name) ?? []);
}

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
