/**
 * Checks that two servers return the same records with the same values before they are measured.
 */
import { isDeepStrictEqual } from 'node:util';
import type { LoadedSide } from '../load/rounds.ts';
import { fetchText } from './calls.ts';
import { recordsOf, type Values } from './side.ts';
import type { Workload } from '../records/workloads.ts';

const SAMPLES = [0, 1, 2, 203, 399, 400, 401];
const TOLD_CHARACTERS = 1000;

/**
 * Sends the same requests to two sides. Throws if their answers or, after writes, the written records differ. If each
 * side has imported its own records (`isOwn`), the dates and lock codes of those that are read differ, so only their
 * number is compared.
 */
export async function compareAnswers(
  workload: Workload,
  ours: LoadedSide,
  other: LoadedSide,
  isOwn: boolean,
): Promise<void> {
  for (const n of SAMPLES.filter((sample) => sample < ours.requests.length)) {
    const answers = await Promise.all([ours, other].map((loaded) => look(workload, loaded, n)));
    if (answers[0]!.length === 0) throw new Error(`${workload.name}: request ${n} finds nothing.`);
    const texts = answers.map((records) => JSON.stringify(records).slice(0, TOLD_CHARACTERS));
    const isSame =
      isOwn && !workload.written
        ? answers[0]!.length === answers[1]!.length
        : isDeepStrictEqual(answers[0], answers[1]);
    if (!isSame)
      throw new Error(`${workload.name}: ${other.side.name} answers request ${n} otherwise: ${texts.join('\n')}`);
  }
}

async function look({ written }: Workload, { side, requests }: LoadedSide, n: number): Promise<Values[]> {
  const answer = await fetchText(side.server.origin, requests[n]!);
  if (written === undefined) return recordsOf(JSON.parse(answer));
  const { read, sent } = written(side.dialect, n);
  const record = recordsOf(JSON.parse(await fetchText(side.server.origin, read))).at(-1) ?? {};
  return [Object.fromEntries(Object.keys(sent).map((field) => [field, record[field] ?? '']))];
}
