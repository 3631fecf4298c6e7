/** Renders the manifests of the npm packages. Only the root's package.json has the addresses of the project. */

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

/** Returns the addresses. JSON leaves out the undefined ones. */
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

/** Renders the manifest of a package that has its own, such as the client. */
export const renderOwnManifest = (root: RootManifest, own: object): string => render({ ...own, ...addressesOf(root) });

const render = (manifest: object): string => `${JSON.stringify(manifest, undefined, 2)}\n`;
