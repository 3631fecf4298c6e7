/**
 * The software bill of materials of a release, CycloneDX 1.6: every package of others it carries, and Node with the
 * libraries inside it. It is checked against the standard's own schema before it is given out.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { listNodePackages, type ShippedPackage } from './shipped.ts';

const SPEC = '1.6';
const LICENCE_IDS = /^[\w.-]+$/;
/** Entries of process.versions that are no libraries: numbers of interfaces, and Node itself. */
const NO_LIBRARIES = new Set(['node', 'modules', 'napi', 'unicode']);

type Json = Record<string, unknown>;

/** Time in whole seconds since 1970. */
export function renderSbom(root: string, version: string, shipped: readonly ShippedPackage[], time: number): string {
  const own = purlOf('@storeroom/server', version);
  const node = `pkg:generic/node@${process.versions.node}`;
  const refs = new Map(shipped.map((one) => [one.path, purlOf(one.name, one.version)]));
  const direct = shipped.filter(({ isDirect }) => isDirect).map(({ path }) => refs.get(path)!);
  const libraries = new Map(shipped.map((one) => [refs.get(one.path)!, describePackage(one)]));
  const nodePackages = listNodePackages(root);
  const components = [
    ...libraries.values(),
    describeNode(node),
    ...nodePackages.map((one) => ({
      type: 'platform',
      'bom-ref': purlOf(one.name, one.version),
      ...splitName(one.name),
      version: one.version,
      scope: 'optional',
      hashes: [hashOf(one.sha512)],
      purl: purlOf(one.name, one.version),
    })),
  ];
  const dependencies = [
    {
      ref: own,
      dependsOn: [...new Set([...direct, node, ...nodePackages.map((one) => purlOf(one.name, one.version))])],
    },
    ...mergeNeeds(shipped, refs),
  ];
  const content: Json = {
    version: 1,
    metadata: {
      timestamp: new Date(time * 1000).toISOString(),
      tools: { components: [{ type: 'application', name: 'storeroom tools/release', version }] },
      component: {
        type: 'application',
        'bom-ref': own,
        group: '@storeroom',
        name: 'server',
        version,
        licenses: [{ license: { id: 'Apache-2.0' } }],
        purl: own,
      },
    },
    components,
    dependencies,
  };
  const bom = { bomFormat: 'CycloneDX', specVersion: SPEC, serialNumber: serialOf(content), ...content };
  checkSbom(bom);
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}

/** Throws when the schema of the standard refuses it. */
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

function describePackage({ name, version, licence, sha512, homepage }: ShippedPackage): Json {
  return {
    type: 'library',
    'bom-ref': purlOf(name, version),
    ...splitName(name),
    version,
    scope: 'required',
    hashes: [hashOf(sha512)],
    licenses: LICENCE_IDS.test(licence) ? [{ license: { id: licence } }] : [{ expression: licence }],
    purl: purlOf(name, version),
    ...(homepage !== undefined && { externalReferences: [{ type: 'website', url: homepage }] }),
  };
}

/** Executables contain Node; the npm package depends on it. */
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

/** One entry for each name and version, however many copies of it npm installs. */
function mergeNeeds(shipped: readonly ShippedPackage[], refs: Map<string, string>): Json[] {
  const needs = new Map<string, Set<string>>();
  for (const { path, needs: paths } of shipped) {
    const ref = refs.get(path)!;
    const all = needs.get(ref) ?? new Set();
    needs.set(ref, all);
    for (const needed of paths) all.add(refs.get(needed)!);
  }
  return [...needs].map(([ref, all]) => ({ ref, dependsOn: [...all].toSorted() }));
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function splitName(name: string): { group?: string; name: string } {
  const [group, rest] = name.split('/') as [string, string?];
  return rest === undefined ? { name } : { group, name: rest };
}

function hashOf(sha512: string): Json {
  return { alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') };
}

/** A UUID that follows from the content: the same release has the same. */
function serialOf(content: Json): string {
  const hex = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
