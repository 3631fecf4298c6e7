/**
 * A disk that can lose its power: an ext4 file system in a file, mounted through a loop device and shut down by the
 * kernel without flushing anything. Data that was not synced is lost at the next mount, as after a power cut. Needs
 * root, and says so if it cannot work.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { temporaryFolder } from '../kit/service.ts';

/** Size of the disk. Its file is sparse, so it occupies only what was written. */
const MIB = 1024;
/**
 * A program that waits for a line, calls FS_IOC_SHUTDOWN (0x8004587d) with EXT4_GOING_FLAGS_NOLOGFLUSH and prints a
 * word. It waits because a program that started only then would come tens of milliseconds later.
 */
const SHUT_DOWN = `
import fcntl, os, struct, sys
disk = os.open(sys.argv[1], os.O_RDONLY)
if sys.stdin.readline():
    fcntl.ioctl(disk, 0x8004587d, struct.pack('I', 2))
    print('done', flush=True)
`;

/**
 * Runs a program of the system. If it fails, throws an error that says what the fault tests need.
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

  /** Lets all users enter the disk, such as the user that PostgreSQL runs as, and returns where it is mounted. */
  openToAll(): string {
    for (const folder of [dirname(this.#mountPoint), this.#mountPoint]) chmodSync(folder, 0o755);
    return this.#mountPoint;
  }

  /** The process that will ask the kernel for the shutdown and then end. */
  get switchPid(): number {
    return this.#switch!.pid!;
  }

  /**
   * Shuts the disk down. Only answers that arrived before this call count. An fsync that began before the shutdown can
   * return success while its journal is being aborted, because the kernel waits for a transaction to end, not to
   * succeed. After a real power cut no one would receive that success: see shutdown-order.ts.
   */
  async losePower(): Promise<void> {
    const printed = text(this.#switch!.stdout!);
    this.#switch!.stdin!.end('\n');
    if ((await printed) !== 'done\n') throw new Error('The file system was not shut down.');
  }

  /** Mounts the disk again after a loss. No process may still have one of its files open. */
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
