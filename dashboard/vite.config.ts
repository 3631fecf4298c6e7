/**
 * Builds the dashboard into dist/, with a hashed name for each asset and compressed copies beside it. theme.js is a
 * classic script in the head, because a module would run after the first paint. The policy forbids inlining.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const TARGET = ['chrome125', 'firefox128', 'safari18'];

function addThemeScript(): Plugin {
  return {
    name: 'theme-script',
    apply: 'build',
    buildStart() {
      this.emitFile({ type: 'asset', name: 'theme.js', source: readFileSync(new URL('theme.js', import.meta.url)) });
    },
    transformIndexHtml(_html, { bundle = {} }) {
      const theme = Object.values(bundle).find((file) => file.type === 'asset' && file.names.includes('theme.js'));
      if (theme === undefined) throw new Error('theme.js was not built.');
      return [{ tag: 'script', attrs: { src: `/dashboard/${theme.fileName}` }, injectTo: 'head-prepend' }];
    },
  };
}

function compressFiles(): Plugin {
  let folder = '';
  return {
    name: 'compress-files',
    apply: 'build',
    configResolved({ root, build }) {
      folder = resolve(root, build.outDir);
    },
    closeBundle() {
      for (const name of globSync('**/*.{js,css,html,svg}', { cwd: folder })) {
        const file = join(folder, name);
        const bytes = readFileSync(file);
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
        writeFileSync(`${file}.br`, brotliCompressSync(bytes));
      }
    },
  };
}

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

export default defineConfig({
  define: { VERSION: JSON.stringify(version) },
  base: '/dashboard/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [addThemeScript(), compressFiles()],
  build: {
    target: TARGET,
    cssTarget: TARGET,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    license: { fileName: '.vite/license.json' }, // a release checks that it lists these packages
    // What three pages or more have in common is one file, instead of a dozen whose headers weigh as much as they do. The
    // forms of records, and the sums of lines with big.js, are not in it: a list loads them only for its dialogs.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [{ name: 'shared', test: /dashboard\/src\/(?!records\/(?:edit|lines)\/)/, minShareCount: 3 }],
        },
      },
    },
  },
});
