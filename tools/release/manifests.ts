/** The manifests of both npm packages. Where the project is found stands in the root's package.json alone. */

interface Addresses {
  readonly repository?: string | object | undefined;
  readonly bugs?: string | object | undefined;
  readonly homepage?: string | undefined;
}

export interface RootManifest extends Addresses {
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly engines: Record<string, string>;
  readonly optionalDependencies: Record<string, string>;
}

export const LAUNCHER = 'bin/storeroom.js';

/** Members that are undefined are left out of the file. */
const addressesOf = ({ repository, bugs, homepage }: Addresses): Addresses => ({ repository, bugs, homepage });

export const renderServerManifest = (root: RootManifest): string =>
  render({
    name: '@storeroom/server',
    version: root.version,
    description: root.description,
    keywords: ['inventory', 'orders', 'api', 'openapi', 'sqlite', 'postgresql', 'server'],
    license: root.license,
    ...addressesOf(root),
    type: 'module',
    bin: { storeroom: LAUNCHER },
    engines: root.engines,
    optionalDependencies: root.optionalDependencies,
    publishConfig: { access: 'public' },
  });

export const renderClientManifest = (root: RootManifest, client: object): string =>
  render({ ...client, ...addressesOf(root) });

const render = (manifest: object): string => `${JSON.stringify(manifest, undefined, 2)}\n`;
