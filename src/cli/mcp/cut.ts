/** Cuts an answer to a number of bytes: whole records go, and what is left says how many and how to get them. */
import type { Answer } from './caller.ts';

/** What was left out of a list, by where it is in the answer. */
interface Cut {
  readonly list: string;
  shown: number;
  readonly of: number;
}

interface List {
  readonly place: string;
  readonly items: unknown[];
  readonly length: number;
}

/** Deeper lists, such as serial numbers, go with their record. */
const DEPTH_MAX = 3;
const TEXT_CHARACTERS = 200;
/** Room for what is said about the cut. */
const NOTE_BYTES = 600;

/** The largest lists are cut first. */
const CUTS_TOLD = 3;

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The answer as JSON of at most so many bytes. */
export function renderAnswer(answer: Answer, bytesMost: number): string {
  const whole = JSON.stringify(answer);
  if (Buffer.byteLength(whole) <= bytesMost) return whole;
  const room = bytesMost - NOTE_BYTES;
  const rest = JSON.parse(whole) as Answer;
  const cuts = cutLists(rest, room);
  const areTextsCut = sizeOf(rest) > room;
  const shown = areTextsCut ? (JSON.parse(JSON.stringify(rest, shorten)) as Answer) : rest;
  const { nextCursor, ...others } = shown;
  const note = {
    cut: { bytesMost, lists: cuts.slice(0, CUTS_TOLD), ...(areTextsCut && { textsAfterCharacters: TEXT_CHARACTERS }) },
    howToGetTheRest: tellHow(cuts, answer),
  };
  // The cursor of a page goes on after its last record, also of those left out.
  const told = JSON.stringify({
    ...others,
    ...(nextCursor !== undefined && cuts.every(({ list }) => list !== 'data') && { nextCursor }),
    ...note,
  });
  if (Buffer.byteLength(told) <= bytesMost) return told;
  return JSON.stringify({ data: null, ...note });
}

/** Shortens the largest list until the answer fits or no list has two records. */
function cutLists(answer: Answer, room: number): Cut[] {
  const cuts = new Map<string, Cut>();
  for (;;) {
    const excess = sizeOf(answer) - room;
    if (excess <= 0) break;
    const lists = findLists(answer).filter(({ items }) => items.length > 1);
    const largest = lists.toSorted((a, b) => b.length - a.length)[0];
    if (!largest) break;
    const { place, items } = largest;
    const of = cuts.get(place)?.of ?? items.length;
    let freed = 0;
    while (items.length > 1 && freed < excess) freed += sizeOf(items.pop()) + 1;
    cuts.set(place, { list: place, shown: items.length, of });
  }
  return [...cuts.values()];
}

function findLists(value: unknown, place = '', depth = 0): List[] {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return [];
  const own = Array.isArray(value) ? [{ place, items: value as unknown[], length: sizeOf(value) }] : [];
  const nameOf = (key: string): string =>
    Array.isArray(value) ? `${place}[${key}]` : place === '' ? key : `${place}.${key}`;
  return [...own, ...Object.entries(value).flatMap(([key, member]) => findLists(member, nameOf(key), depth + 1))];
}

const shorten = (_: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > TEXT_CHARACTERS ? `${value.slice(0, TEXT_CHARACTERS)}…` : value;

function tellHow(cuts: readonly Cut[], { nextCursor }: Answer): string {
  const page = cuts.find(({ list }) => list === 'data');
  const ways = ['Name only the fields you need with `fields`, where the tool takes it.'];
  if (page)
    ways.unshift(
      `Ask again with maxReturn "${page.shown}"${nextCursor === undefined ? '' : ' and the same cursor as before'}: that answer has the cursor of the rest.`,
    );
  ways.push('Or ask for one record by its key.');
  return ways.join(' ');
}
