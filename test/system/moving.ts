/** Runs `storeroom move` between a folder and a database, for its tests. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { runCommand, temporaryFolder, type CommandResult } from '../kit/service.ts';

export interface Report {
  readonly tenants: number;
  readonly tables: readonly { team: string | null; table: string; rows: number; sha256: string }[];
  readonly seconds: number;
}

export const addressOf = (place: string): string => (place.startsWith('postgres') ? place : `sqlite:${place}`);
export const move = (from: string, to: string): Promise<CommandResult> =>
  runCommand(from, ['move', '--to', addressOf(to), '--json']);

export async function moveAll(from: string, to: string): Promise<Report> {
  const result = await move(from, to);
  assert.equal(result.code, 0, result.stderr);
  return result.json() as Report;
}

export const countRows = (tables: Report['tables']): Record<string, number> =>
  Object.fromEntries(tables.map(({ table, rows }) => [table, rows]));

/** Returns the path of a folder that does not exist yet. */
export const newFolder = (): Promise<string> => Promise.resolve(join(temporaryFolder(), 'new'));
