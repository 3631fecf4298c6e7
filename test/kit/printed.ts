/** Reads what a process prints until it is ready. */
import type { ChildProcess } from 'node:child_process';

/** Returns the output up to a match. Later output is read and dropped. Throws if the process ends before the match. */
export function readUntil(child: ChildProcess, isReady: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
        if (isReady.test(printed)) resolve(printed);
      });
    child.once('close', () => reject(new Error(`It ended before it was ready:\n${printed}`)));
  });
}
