/**
 * A process that runs command lines one after another, each as `storeroom` would, and sends back what they print. Tests
 * that do not depend on the end of the process use it. commands.ts starts it.
 */
import { runCommandLine } from '../../src/cli/commands/program.ts';
import { clockOf } from './clock.ts';

export interface CommandRequest {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface CommandOutcome {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

process.umask(0o077);
process.on('disconnect', () => process.exit());
process.stdout.setMaxListeners(0); // each command line adds a listener

/** Captures what is written to a stream. Returns a function that returns it as text. */
function capture(stream: NodeJS.WriteStream): () => string {
  const parts: Buffer[] = [];
  stream.write = (part: string | Uint8Array): boolean => {
    parts.push(Buffer.from(part as string));
    return true;
  };
  return () => Buffer.concat(parts).toString();
}

process.on('message', ({ words, env }: CommandRequest) => {
  const [out, err] = [capture(process.stdout), capture(process.stderr)];
  void runCommandLine([process.execPath, 'storeroom', ...words], env, clockOf(env)).then((exitCode) =>
    process.send!({ exitCode, out: out(), err: err() } satisfies CommandOutcome),
  );
});
