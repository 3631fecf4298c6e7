/** Builds the program from what .dockerignore lets through. `npm run test:image` carries out the other steps too. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../kit/service.ts';
import { copyContext, listTracked } from './image-context.ts';
import { readDockerfile, ROOT } from './texts.ts';

test('the build of the image gets every file that it needs, and its program has every file that is not code', () => {
  const folder = temporaryFolder();
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const { name, options, text } of readDockerfile()) {
    if (name === 'COPY' && options['from'] === undefined)
      for (const word of text.split(' ').slice(0, -1)) copyContext(word, folder);
    if (name === 'RUN' && /^npm run \S+$/.test(text))
      execFileSync('sh', ['-c', text], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
  }
  for (const file of [
    'build/server/main.js',
    'build/server/dashboard/dist/index.html',
    'build/server/docs/dist/client.html',
    'LICENSE',
    'NOTICE',
  ])
    assert.ok(existsSync(join(folder, file)), file);
  const assets = listTracked('src', 'demo', 'openapi.json').filter((file) => !/\.ts$|^demo\/.*README\.md$/.test(file));
  assert.deepEqual(
    assets.filter((file) => !existsSync(join(folder, 'build/server', file))),
    [],
  );
});
