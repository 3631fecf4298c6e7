/**
 * Makes the program of the package in `mcp/` before it is packed, in mcp/dist or the folder that is given. The program
 * contains the sources that it shares with the client and the server; the protocol stays a dependency.
 */
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '../..');
const OUT = resolve(process.argv[2] ?? join(ROOT, 'mcp/dist'));

process.chdir(ROOT);
rmSync(OUT, { recursive: true, force: true });
const bundle = await rolldown({
  input: 'mcp/src/main.ts',
  platform: 'node',
  external: /^@modelcontextprotocol\//,
  onLog: (_level, { message }) => {
    throw new Error(message);
  },
});
await bundle.write({
  file: join(OUT, 'main.js'),
  format: 'esm',
  codeSplitting: false,
  banner: '#!/usr/bin/env node',
});
await bundle.close();
