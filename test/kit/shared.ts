/** Makes what the test files of one process share, such as a browser, and ends it after the last file. */
import { after } from 'node:test';

const ends: (() => Promise<unknown>)[] = [];

/** Runs `end` when all files of the process are over. */
export function whenOver(end: () => Promise<unknown>): void {
  if (process.connected) ends.push(end);
  else after(end); // a file that runs alone, without run.ts
}

/** Ends everything that the files of the process shared. */
export async function endShared(): Promise<void> {
  await Promise.all(ends.map((end) => end()));
}

/** Shares a thing that its first use makes. If that fails, the next use tries again, so a fault fails only one file. */
export function share<T>(make: () => Promise<T>, end: (made: T) => Promise<unknown>): () => Promise<T> {
  let made: Promise<T> | undefined;
  whenOver(async () => {
    if (made !== undefined) await end(await made);
  });
  const begin = async (): Promise<T> => {
    try {
      return await make();
    } catch (fault) {
      made = undefined;
      throw fault;
    }
  };
  return () => (made ??= begin());
}
