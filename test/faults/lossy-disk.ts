/**
 * A disk that can lose its power: an ext4 file system in a file, mounted through a loop device and shut down by the
 * kernel without flushing anything. What was not synced is gone at the next mount, as after a power cut. Needs root;
 * says so where it cannot work.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { temporaryFolder } from '../kit/service.ts';

/** It takes what is written to it and no more. */
const MIB = 1024;
/**
 * Waits for a line, then calls FS_IOC_SHUTDOWN (0x8004587d) with EXT4_GOING_FLAGS_NOLOGFLUSH at once: a program that
 * had yet to start would leave the disk tens of milliseconds. Prints a word once it is done.
 */
const SHUT_DOWN = `
import fcntl, os, struct, sys
disk = os.open(sys.argv[1], os.O_RDONLY)
if sys.stdin.readline():
    fcntl.ioctl(disk, 0x8004587d, struct.pack('I', 2))
    print('done', flush=True)
`;

/**
 * Runs a program of the system; throws a sentence that says what the test needs when it is not there or not allowed.
 */
export function runTool(program: string, ...words: string[]): void {
  try {
    execFileSync(program, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (fault) {
    const needs = 'The fault tests need Linux, root, and mkfs.ext4, mount, umount, python3 and strace on the PATH.';
    throw new Error(`${needs} Here \`${program} ${words.join(' ')}\` failed: ${(fault as Error).message}`, {
      cause: fault,
    });
  }
}

export class LossyDisk {
  readonly #image: string;
  readonly #mountPoint: string;
  #switch: ChildProcess | undefined;

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

  /** Lets any user come to the disk, such as the one that PostgreSQL runs as, and gives where it is mounted. */
  openToAll(): string {
    for (const folder of [dirname(this.#mountPoint), this.#mountPoint]) chmodSync(folder, 0o755);
    return this.#mountPoint;
  }

  /** The process that will ask the kernel for the shutdown, by FS_IOC_SHUTDOWN, and then end. */
  get switchPid(): number {
    return this.#switch!.pid!;
  }

  /**
   * Only what was answered before this is called tells anything. An fsync that has begun before the shutdown can come
   * back as a success while its journal is being aborted, since the kernel waits for a transaction to end and not for
   * it to end well; after a power cut nobody would hear of it: see shutdown-order.ts.
   */
  async losePower(): Promise<void> {
    const printed = text(this.#switch!.stdout!);
    this.#switch!.stdin!.end('\n');
    if ((await printed) !== 'done\n') throw new Error('The file system was not shut down.');
  }

  /** After a loss; nothing may have a file of it open any more. */
  restorePower(): void {
    runTool('umount', this.#mountPoint);
    this.#mount();
  }

  remove(): void {
    this.#switch?.stdin!.end();
    runTool('umount', '--lazy', this.#mountPoint);
    rmSync(this.#image);
  }

  #mount(): void {
    runTool('mount', '-o', 'loop', this.#image, this.#mountPoint);
    this.#switch = spawn('python3', ['-c', SHUT_DOWN, this.#mountPoint], { stdio: ['pipe', 'pipe', 'inherit'] });
  }
}
