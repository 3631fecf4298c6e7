/**
 * W11: imports the records with `storeroom import` and exports them with `storeroom export`. Measures rows per second
 * and the maximum memory of the command. The other workloads use the imported records.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { runStatement } from '../../test/kit/postgres.ts';
import { temporaryFolder, type Keys } from '../../test/kit/service.ts';
import { TEAM, type RecordFile } from './records.ts';
import { runStoreroom } from '../sides/servers.ts';

/** Makes a process print its maximum memory when it ends. */
const PRINT_PEAK =
  "--import=data:text/javascript,process.on('exit',()=>process.stderr.write(String(process.resourceUsage().maxRSS)))";

/** The speed of an import, an export or a reading of pages. */
export interface RowFigures {
  readonly name: string;
  readonly rows: number;
  readonly rowsPerSecond: number;
  readonly memoryMb: number;
}

interface Place {
  /** A data folder or the URL of a database. */
  readonly place: string;
  readonly checkout: string;
}

/** Makes the tenant and its keys, and imports the files. */
export async function seed(
  { place, checkout }: Place,
  files: readonly RecordFile[],
): Promise<{ keys: Keys; imports: RowFigures[] }> {
  const run = (...words: string[]) => runStoreroom(place, words, { checkout, nodeOptions: [PRINT_PEAK] });
  const create = ['tenant', 'create', TEAM, '--name', 'Bench'];
  // Versions before 0.2.0 make a store without the option --create, and do not know it.
  await run(...create, '--create').catch(() => run(...create));
  const keys = JSON.parse((await run('keys', 'replace', TEAM, '--json')).stdout) as Keys;
  const imports: RowFigures[] = [];
  for (const { name, recordType, file, count } of files) {
    const { stdout, stderr } = await run('import', TEAM, recordType, file, '--json');
    const { imported, rowsPerSecond } = JSON.parse(stdout) as { imported: number; rowsPerSecond: number };
    if (imported !== count) throw new Error(`${imported} of ${count} ${name} were imported.`);
    imports.push({ name: `import ${name}`, rows: count, rowsPerSecond, memoryMb: Number(stderr) / 1024 });
  }
  if (place.startsWith('postgres')) await runStatement(place, 'VACUUM ANALYZE');
  return { keys, imports };
}

const EXPORTED = ['customers', 'inventory', 'orders', 'lines'] as const;
export type ExportedFiles = Readonly<Record<(typeof EXPORTED)[number], string>>;

/** Exports the records as CSV. Measures the time from making the file to writing its last byte. */
export async function exportRecords({
  place,
  checkout,
}: Place): Promise<{ files: ExportedFiles; exports: RowFigures[] }> {
  const folder = temporaryFolder();
  const exports: RowFigures[] = [];
  for (const recordType of EXPORTED) {
    const file = join(folder, recordType);
    const words = ['export', TEAM, recordType, '--output', file, '--json'];
    const { stdout, stderr } = await runStoreroom(place, words, { checkout, nodeOptions: [PRINT_PEAK] });
    const { exported: rows } = JSON.parse(stdout) as { exported: number };
    const { birthtimeMs, mtimeMs } = statSync(file);
    const rowsPerSecond = (rows / Math.max(mtimeMs - birthtimeMs, 1)) * 1000;
    exports.push({ name: `export ${recordType}`, rows, rowsPerSecond, memoryMb: Number(stderr) / 1024 });
  }
  const files = Object.fromEntries(EXPORTED.map((recordType) => [recordType, join(folder, recordType)]));
  return { files: files as ExportedFiles, exports };
}
