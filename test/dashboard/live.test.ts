/** Tests that the live list shows each request once, newest first, however many arrive between two reads. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { mergeNewest } from '../../dashboard/src/pages/requests/merge-newest.ts';
import type { RequestsView, RequestView } from '../../src/http/dashboard/interface.ts';

const PAGE = 5;
const requestOf = (number: number): RequestView => ({ requestID: `r${number}` }) as RequestView;
/** Returns a page of these requests, newest first, as the service returns it. */
const pageOf = (numbers: readonly number[]): RequestsView =>
  ({ requests: numbers.map(requestOf), next: 'older' }) as RequestsView;
const shown = (pages: readonly RequestsView[]): string[] =>
  pages.flatMap(({ requests }) => requests.map(({ requestID }) => requestID));
/** Returns up to `count` numbers, from `newest` down. */
const downFrom = (newest: number, count: number): number[] =>
  Array.from({ length: Math.min(count, newest) }, (_, index) => newest - index);

test('Live shows each request once, newest first and without gaps, after any number of updates', () => {
  const looks = fc.array(fc.nat({ max: 2 * PAGE }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.nat({ max: 2 * PAGE }), fc.nat({ max: 2 }), looks, (first, olderPages, arrivals) => {
      let newest = first;
      let pages: readonly RequestsView[] = Array.from({ length: olderPages + 1 }, (_, page) =>
        pageOf(downFrom(Math.max(0, newest - page * PAGE), PAGE)),
      );
      for (const arrived of arrivals) {
        const before = new Set(shown(pages));
        newest += arrived;
        const merged = mergeNewest(pages, pageOf(downFrom(newest, PAGE)));
        ({ pages } = merged);
        const rows = shown(pages);
        assert.deepEqual(
          rows,
          downFrom(newest, rows.length).map((number) => `r${number}`),
        );
        assert.ok(rows.length >= Math.min(PAGE, newest));
        assert.deepEqual(
          merged.added,
          rows.slice(0, PAGE).filter((id) => !before.has(id)),
        );
      }
    }),
  );
});
