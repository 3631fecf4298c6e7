/** Cuts a response to a number of bytes: drops complete records, and says how many are missing and how to get them. */
import type { ToolAnswer } from './caller.ts';

/** A list that was cut, by its place in the response. */
interface Cut {
  readonly list: string;
  readonly shown: number;
  readonly of: number;
}

interface List {
  readonly place: string;
  readonly items: unknown[];
  readonly bytes: number;
}

/** Deeper lists, such as serial numbers, are not cut. */
const DEPTH_MAX = 3;
const TEXT_CHARACTERS = 200;
/** Bytes reserved for the note about the cut. */
const NOTE_BYTES = 600;

/** Maximum number of lists in the note. The largest are cut first. */
const CUTS_TOLD = 3;

const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** Renders the response as JSON of at most `bytesMost` bytes. */
export function renderAnswer(answer: ToolAnswer, bytesMost: number): string {
  const whole = JSON.stringify(answer);
  if (Buffer.byteLength(whole) <= bytesMost) return whole;
  const recordBytes = bytesMost - NOTE_BYTES;
  const rest = JSON.parse(whole) as ToolAnswer;
  const cuts = cutLists(rest, recordBytes);
  const areTextsCut = sizeOf(rest) > recordBytes;
  const shown = areTextsCut ? (JSON.parse(JSON.stringify(rest, shorten)) as ToolAnswer) : rest;
  const { nextCursor, nextAfter, ...others } = shown;
  const isPageCut = cuts.some(({ list }) => list === 'data');
  const note = {
    cut: { bytesMost, lists: cuts.slice(0, CUTS_TOLD), ...(areTextsCut && { textsAfterCharacters: TEXT_CHARACTERS }) },
    howToGetTheRest: tellHow(cuts, answer),
  };
  // They continue after the last record of the page, so they would skip the ones that are left out.
  const told = JSON.stringify({
    ...others,
    ...(!isPageCut && { nextCursor, nextAfter }),
    ...note,
  });
  if (Buffer.byteLength(told) <= bytesMost) return told;
  return JSON.stringify({ data: null, ...note });
}

/** Shortens the largest list until the response fits or no list has two records. */
function cutLists(answer: ToolAnswer, bytesMost: number): Cut[] {
  const cuts = new Map<string, Cut>();
  for (let excess = sizeOf(answer) - bytesMost; excess > 0; excess = sizeOf(answer) - bytesMost) {
    const [largest] = findLists(answer).toSorted((a, b) => b.bytes - a.bytes);
    if (!largest) break;
    const { place, items } = largest;
    const of = cuts.get(place)?.of ?? items.length;
    for (let freed = 0; items.length > 1 && freed < excess;) freed += sizeOf(items.pop()) + 1;
    cuts.set(place, { list: place, shown: items.length, of });
  }
  return [...cuts.values()];
}

/** Finds the lists with at least two items. */
function findLists(value: unknown, place = '', depth = 0): List[] {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return [];
  const isList = Array.isArray(value);
  const own = isList && value.length > 1 ? [{ place, items: value as unknown[], bytes: sizeOf(value) }] : [];
  const nameOf = (key: string) => (isList ? `${place}[${key}]` : place === '' ? key : `${place}.${key}`);
  return [...own, ...Object.entries(value).flatMap(([key, member]) => findLists(member, nameOf(key), depth + 1))];
}

const shorten = (_: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > TEXT_CHARACTERS ? `${value.slice(0, TEXT_CHARACTERS)}…` : value;

function tellHow(cuts: readonly Cut[], { nextCursor }: ToolAnswer): string {
  const page = cuts.find(({ list }) => list === 'data');
  const ways = ['If the tool accepts `fields`, name only the fields that you need.'];
  if (page)
    ways.unshift(
      `Ask again with maxReturn "${page.shown}"${nextCursor === undefined ? '' : ' and the same cursor as before'} to get the cursor for the rest.`,
    );
  ways.push('Or request one record by its key.');
  return ways.join(' ');
}
