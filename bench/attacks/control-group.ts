/**
 * A control group of Linux that limits the memory of a service. If no group can be made, the caller only measures the
 * memory, and says so.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const V1 = '/sys/fs/cgroup/memory';
const V2 = '/sys/fs/cgroup';
/** A shell command that puts itself into the group and becomes the program. */
const ENTER = 'echo $$ > "$0" && exec "$@"';

export class ControlGroup {
  readonly #folder: string;
  /** Version of control groups, for the output. */
  readonly kind: string;

  private constructor(folder: string, kind: string) {
    this.#folder = folder;
    this.kind = kind;
  }

  /** Makes a group whose processes may use `bytes` together. Returns undefined if no group can be made. */
  static make(bytes: number): ControlGroup | undefined {
    const name = `storeroom-test-${process.pid}`;
    for (const { parent, kind, bounds } of [
      { parent: V1, kind: 'cgroup v1', bounds: { 'memory.limit_in_bytes': bytes } },
      { parent: V2, kind: 'cgroup v2', bounds: { 'memory.max': bytes, 'memory.swap.max': 0 } },
    ])
      try {
        if (!existsSync(join(parent, 'cgroup.procs'))) continue;
        const folder = join(parent, name);
        mkdirSync(folder);
        for (const [bound, value] of Object.entries(bounds)) writeFileSync(join(folder, bound), String(value));
        return new ControlGroup(folder, kind);
      } catch {
        // This user may not make a group, or the machine cannot limit memory this way.
      }
    return undefined;
  }

  /** The words to put before a command so that it runs in the group. */
  get under(): string[] {
    return ['sh', '-c', ENTER, join(this.#folder, 'cgroup.procs')];
  }

  /** Number of processes of the group that the kernel has killed because of their memory. */
  get kills(): number {
    const file = ['memory.oom_control', 'memory.events'].find((name) => existsSync(join(this.#folder, name)))!;
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(this.#folder, file), 'utf8'))?.[1] ?? 0);
  }

  /** Removes the group. Its processes must have ended. */
  remove(): void {
    rmdirSync(this.#folder);
  }
}
