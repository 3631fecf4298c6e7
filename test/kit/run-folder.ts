/**
 * The temporary folder of a run of the tests. TMPDIR and HOME of this process, and of all that it starts, are in it. It
 * is empty at the start and removed at the end, so no run finds files of another.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { availableMemory } from 'node:process';
import { canEnter } from './postgres.ts';

/** Folders in which a run works if PostgreSQL's user cannot enter TMPDIR. */
const OTHER_PLACES = ['/tmp', '/var/tmp'];

/**
 * Folder of a file system in memory. The PostgreSQL that the tests share works there, because most of what its tests
 * wait for are its syncs. Tests kill its clients and services, not the machine.
 */
const MEMORY = '/dev/shm';
/** Free memory with which a run uses it: `npm run test:all` took 2.5 GB. */
const MEMORY_LEAST = 8 * 2 ** 30;

/** Variables that would make programs use other folders than HOME. */
const OTHER_HOMES = ['XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME'];

export interface RunFolder {
  /** Returns the names of what is in TMPDIR. */
  readonly left: () => string[];
  /** Folder for the shared PostgreSQL: in memory if there is enough, else TMPDIR. */
  readonly forPostgres: string;
  readonly isInMemory: boolean;
  /** Makes a folder beside TMPDIR, and returns its path. */
  readonly makeFolder: () => string;
  readonly remove: () => void;
}

export function openRunFolder(): RunFolder {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chmodSync(tmpdir(), statSync(tmpdir()).mode | 0o001); // PostgreSQL runs as another user
  const place = [tmpdir(), ...OTHER_PLACES].find(canEnter) ?? tmpdir();
  if (place !== tmpdir())
    process.stderr.write(`PostgreSQL's user cannot enter ${tmpdir()}, so this run works in ${place}.\n`);
  const folder = mkdtempSync(join(place, 'storeroom-'));
  const [temporary, home] = [join(folder, 'tmp'), join(folder, 'home')];
  for (const path of [temporary, home]) mkdirSync(path);
  for (const path of [folder, temporary]) chmodSync(path, 0o711);
  process.env['TMPDIR'] = temporary;
  process.env['HOME'] = home;
  for (const name of OTHER_HOMES) delete process.env[name];
  const memory = hasMemory() ? mkdtempSync(join(MEMORY, 'storeroom-')) : undefined;
  if (memory !== undefined) chmodSync(memory, 0o711);
  const places = [temporary, ...(memory === undefined ? [] : [memory])];
  return {
    forPostgres: memory ?? temporary,
    isInMemory: memory !== undefined,
    makeFolder() {
      const made = mkdtempSync(join(folder, 'worker-'));
      chmodSync(made, 0o711);
      return made;
    },
    left: () => places.flatMap((path) => readdirSync(path)).toSorted(),
    remove() {
      for (const path of [folder, ...places]) rmSync(path, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** Returns whether a run may work in memory: a container often has 64 MB there. */
function hasMemory(): boolean {
  if (!existsSync(MEMORY) || !canEnter(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return Math.min(bavail * bsize, availableMemory()) >= MEMORY_LEAST;
}
