/**
 * How fast real data comes in: the 25,281 lines of test/data through `storeroom import`, as the command itself reports it, with the most memory its
 * process ever held. Each round imports into a tenant of its own.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { writeRetailFiles } from '../test/kit/online-retail.ts';
import { runCommand, temporaryFolder } from '../test/kit/service.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
/** Tells the most resident memory of a process as its last words. */
const TELL_PEAK =
  "data:text/javascript,process.on('exit',()=>process.stderr.write(String(process.resourceUsage().maxRSS)))";

export interface ImportFigures {
  readonly rowsPerSecond: number;
  readonly peakMb: number;
}

/** The figures of the lines' import, a pair a round. */
export async function measureImport(rounds: number): Promise<ImportFigures[]> {
  const folder = temporaryFolder();
  const files = await writeRetailFiles(temporaryFolder());
  const figures: ImportFigures[] = [];
  for (let round = 0; round < rounds; round++) {
    const team = `retail${round}`;
    await runCommand(folder, ['tenant', 'create', team, '--name', team]);
    for (const { recordType, file, count } of files) {
      const words = ['--import', TELL_PEAK, MAIN, 'import', team, recordType, file, '--json'];
      const { stdout, stderr } = await promisify(execFile)(process.execPath, words, {
        env: { ...process.env, STOREROOM_DATA: folder },
      });
      const { imported, rowsPerSecond } = JSON.parse(stdout) as { imported: number; rowsPerSecond: number };
      if (imported !== count) throw new Error(`${imported} of ${count} ${recordType} were imported.`);
      if (recordType === 'lines') figures.push({ rowsPerSecond, peakMb: Number(stderr) / 1024 });
    }
  }
  return figures;
}
