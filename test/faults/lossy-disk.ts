/**
 * A disk that can lose its power: an ext4 file system in a file, mounted through a loop device and shut down by the
 * kernel without flushing anything. What was not synced is gone at the next mount, as after a power cut. Needs root;
 * says so where it cannot work.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../kit/service.ts';

const MIB = 128;
/** FS_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH. */
const SHUT_DOWN =
  "import fcntl, os, struct, sys; fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

/**
 * Runs a program of the system; throws a sentence that says what the test needs when it is not there or not allowed.
 */
export function runTool(program: string, ...words: string[]): void {
  try {
    execFileSync(program, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (fault) {
    const needs = 'The fault tests need Linux, root, and mkfs.ext4, mount, umount and python3 on the PATH.';
    throw new Error(`${needs} Here \`${program} ${words.join(' ')}\` failed: ${(fault as Error).message}`, {
      cause: fault,
    });
  }
}

export class LossyDisk {
  readonly #image: string;
  readonly #mountPoint: string;

  constructor() {
    const folder = temporaryFolder();
    this.#image = join(folder, 'disk.img');
    this.#mountPoint = join(folder, 'disk');
    mkdirSync(this.#mountPoint);
    runTool('truncate', '-s', `${MIB}M`, this.#image);
    runTool('mkfs.ext4', '-q', '-F', this.#image);
    this.#mount();
  }

  /** A folder on the disk. */
  get folder(): string {
    return join(this.#mountPoint, 'data');
  }

  /**
   * Only what was answered before this is called tells anything. An fsync that has begun before the shutdown can come
   * back as a success while its journal is being aborted, since the kernel waits for a transaction to end and not for
   * it to end well; after a power cut nobody would hear of it.
   */
  losePower(): void {
    runTool('python3', '-c', SHUT_DOWN, this.#mountPoint);
  }

  /** After a loss; nothing may have a file of it open any more. */
  restorePower(): void {
    runTool('umount', this.#mountPoint);
    this.#mount();
  }

  remove(): void {
    runTool('umount', '--lazy', this.#mountPoint);
    rmSync(this.#image);
  }

  #mount(): void {
    runTool('mount', '-o', 'loop', this.#image, this.#mountPoint);
  }
}
