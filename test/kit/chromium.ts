/**
 * The Chromium of npm, unpacked once beside the packages, with the libraries and the fonts that the package has for it:
 * no browser, library or font of the machine is needed. Processes that want it at once may all unpack it; one of them
 * puts it in place. As the main program of a process, this file unpacks it into TMPDIR.
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
/** The package unpacks its libraries only for this kind of machine. Nothing else follows from the variable. */
const WITH_LIBRARIES = { AWS_LAMBDA_JS_RUNTIME: 'nodejs22.x' };
/** That of the package names folders in /tmp. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

interface Chromium {
  readonly executablePath: string;
  /** What its process needs in its environment, beside what is there. */
  readonly env: { readonly FONTCONFIG_PATH: string; readonly LD_LIBRARY_PATH: string };
}

/** Unpacks it below a folder, unless that is done, and says where it is. FONTCONFIG_PATH leads it to other fonts. */
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

/** Under another name first: whoever finds the folder finds all of it. */
async function unpack(folder: string): Promise<void> {
  mkdirSync(join(folder, '..'), { recursive: true });
  const made = mkdtempSync(`${folder}-`);
  try {
    const env = { ...process.env, ...WITH_LIBRARIES, TMPDIR: made };
    await promisify(execFile)(process.execPath, [fileURLToPath(import.meta.url)], { env });
    writeFileSync(join(made, 'fonts/fonts.conf'), FONTS);
    renameSync(made, folder);
  } catch (fault) {
    if (!existsSync(folder)) throw fault; // else another process was first
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

if (import.meta.main) await chromiumPack.executablePath();
