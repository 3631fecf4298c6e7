/**
 * Renders the software bill of materials of a release (CycloneDX 1.6): every third-party package in it, and Node with
 * its libraries. The bill is checked against the schema of the standard.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { listNodePackages, type ShippedPackage } from './shipped.ts';

const SPEC = '1.6';
const LICENCE_IDS = /^[\w.-]+$/;
/** Entries of process.versions that are not libraries: versions of interfaces, and Node itself. */
const NO_LIBRARIES = new Set(['node', 'modules', 'napi', 'unicode']);

type Json = Record<string, unknown>;

/** Renders the bill. `time` is in whole seconds since 1970. */
export function renderSbom(root: string, version: string, shipped: readonly ShippedPackage[], time: number): string {
  const purl = purlOf({ name: '@storeroom/server', version });
  const node = `pkg:generic/node@${process.versions.node}`;
  const refs = new Map(shipped.map((one) => [one.path, purlOf(one)]));
  const libraries = new Map(shipped.map((one) => [purlOf(one), describePackage(one)]));
  const nodes = listNodePackages(root).map((one) => ({ type: 'platform', ...identify(one, 'optional') }));
  const direct = shipped.filter(({ isDirect }) => isDirect).map(purlOf);
  const needed = [...new Set([...direct, node, ...nodes.map((one) => one.purl)])];
  const content: Json = {
    version: 1,
    metadata: {
      timestamp: new Date(time * 1000).toISOString(),
      tools: { components: [{ type: 'application', name: 'storeroom tools/release', version }] },
      component: {
        type: 'application',
        'bom-ref': purl,
        group: '@storeroom',
        name: 'server',
        version,
        licenses: [{ license: { id: 'Apache-2.0' } }],
        purl,
      },
    },
    components: [...libraries.values(), describeNode(node), ...nodes],
    dependencies: [{ ref: purl, dependsOn: needed }, ...mergeNeeds(shipped, refs)],
  };
  const bom = { bomFormat: 'CycloneDX', specVersion: SPEC, serialNumber: serialOf(content), ...content };
  checkSbom(bom);
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}

/** Throws if the schema of the standard refuses the bill. */
export function checkSbom(bom: unknown): void {
  const readSchema = (name: string): Json => {
    const library = import.meta.resolve('@cyclonedx/cyclonedx-library/package.json');
    return JSON.parse(readFileSync(fileURLToPath(new URL(`res/schema/${name}.schema.json`, library)), 'utf8')) as Json;
  };
  const ajv = new Ajv({ strict: false, allErrors: true });
  for (const name of ['spdx.SNAPSHOT', 'jsf-0.82.SNAPSHOT', 'cryptography-defs.SNAPSHOT'])
    ajv.addSchema(readSchema(name), `http://cyclonedx.org/schema/${name}.schema.json`);
  for (const format of ['iri-reference', 'uri']) ajv.addFormat(format, (text) => !/[\s<>"{}|\\^`]/.test(text));
  ajv.addFormat('idn-email', /^[^\s@]+@[^\s@]+$/);
  ajv.addFormat('date-time', (text) => !Number.isNaN(Date.parse(text)));
  const isValid = ajv.compile(readSchema(`bom-${SPEC}.SNAPSHOT`));
  if (!isValid(bom)) throw new Error(`The SBOM is not valid: ${ajv.errorsText(isValid.errors, { dataVar: 'bom' })}`);
}

type Named = Pick<ShippedPackage, 'name' | 'version'>;

/** Returns the members that identify a package of npm. */
function identify(one: Named & Pick<ShippedPackage, 'sha512'>, scope: string, licenses?: readonly Json[]) {
  const purl = purlOf(one);
  const [name, group] = one.name.split('/').toReversed() as [string, string?];
  return {
    'bom-ref': purl,
    ...(group !== undefined && { group }),
    name,
    version: one.version,
    scope,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(one.sha512, 'base64').toString('hex') }],
    ...(licenses && { licenses }),
    purl,
  };
}

function describePackage(one: ShippedPackage): Json {
  const { licence, homepage } = one;
  return {
    type: 'library',
    ...identify(one, 'required', [LICENCE_IDS.test(licence) ? { license: { id: licence } } : { expression: licence }]),
    ...(homepage !== undefined && { externalReferences: [{ type: 'website', url: homepage }] }),
  };
}

/** Describes Node, which executables contain and the npm package depends on. */
function describeNode(ref: string): Json {
  const libraries = Object.entries(process.versions).filter(([name]) => !NO_LIBRARIES.has(name));
  return {
    type: 'platform',
    'bom-ref': ref,
    name: 'node',
    version: process.versions.node,
    scope: 'required',
    licenses: [{ license: { id: 'MIT' } }],
    cpe: `cpe:2.3:a:nodejs:node.js:${process.versions.node}:*:*:*:*:*:*:*`,
    purl: ref,
    components: libraries
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, version = '']) => ({ type: 'library', 'bom-ref': `${ref}#${name}`, name, version })),
  };
}

/** Returns one entry for each name and version, even if npm installs several copies. */
function mergeNeeds(shipped: readonly ShippedPackage[], refs: Map<string, string>): Json[] {
  const needs = new Map<string, Set<string>>();
  for (const { path, needs: paths } of shipped) {
    const ref = refs.get(path)!;
    needs.set(ref, new Set([...(needs.get(ref) ?? []), ...paths.map((needed) => refs.get(needed)!)]));
  }
  return [...needs].map(([ref, all]) => ({ ref, dependsOn: [...all].toSorted() }));
}

const purlOf = ({ name, version }: Named): string => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** Returns a UUID that is made from the content, so that the same release has the same one. */
function serialOf(content: Json): string {
  const hex = hash('sha256', JSON.stringify(content));
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
