/**
 * How fast real data comes in: the 25,281 lines of test/data through `storeroom import`, as the command reports it, and
 * the most memory its process held. Each round imports into a tenant of its own.
 */
import { writeRetailFiles } from '../test/kit/online-retail.ts';
import { temporaryFolder } from '../test/kit/service.ts';
import { runStoreroom } from './servers.ts';

/** Makes a process print the most memory it held when it ends. */
const PRINT_PEAK =
  "--import=data:text/javascript,process.on('exit',()=>process.stderr.write(String(process.resourceUsage().maxRSS)))";

export interface ImportFigures {
  readonly rowsPerSecond: number;
  readonly peakMb: number;
}

/** The figures of the import of the lines, one a round. */
export async function measureImport(rounds: number): Promise<ImportFigures[]> {
  const folder = temporaryFolder();
  const files = await writeRetailFiles(temporaryFolder());
  const figures: ImportFigures[] = [];
  for (let round = 0; round < rounds; round++) {
    const team = `retail${round}`;
    await runStoreroom(folder, ['tenant', 'create', team, '--name', team]);
    for (const { recordType, file, count } of files) {
      const words = ['import', team, recordType, file, '--json'];
      const { stdout, stderr } = await runStoreroom(folder, words, { nodeOptions: [PRINT_PEAK] });
      const { imported, rowsPerSecond } = JSON.parse(stdout) as { imported: number; rowsPerSecond: number };
      if (imported !== count) throw new Error(`${imported} of ${count} ${recordType} were imported.`);
      if (recordType === 'lines') figures.push({ rowsPerSecond, peakMb: Number(stderr) / 1024 });
    }
  }
  return figures;
}
