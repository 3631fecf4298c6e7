/** docs/conformance.md has a row for every rule, listed and counted here, and every test it names exists. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..');

/** For each section: the start of its IDs, how many there are, and the rest of each. */
const SECTIONS: [prefix: string, count: number, rules: string][] = [
  ['2.1 ', 6, 'status; data; subRecords; envelope; values; ORDER_DATE'],
  ['2.2 ', 2, 'fields; FUNCTION'],
  [
    '2.3 ',
    8,
    'ORDER_NUMBER; LINE_NUMBER; PART_CODE; DESCRIPTION; QUANTITY; NUMBER_SHIPPED; LINE_REF_LOCK_CODE; ORDER_LINEITEMS',
  ],
  ['2.4 ', 2, 'fields; FUNCTION'],
  ['2.5 ', 1, 'fields'],
  ['2.6 ', 5, 'field; value; contains; conjunction; queryable fields'],
  ['2.7 ', 3, 'body; storefront_order_number; orders'],
  ['2.7 ', 6, 'order_type; pims_order_number; create_date; modified_date; tracking_numbers; is_dropship'],
  ['2.7 ', 4, 'shipping_address; shipping_address keys; items; item fields'],
  ['2.7 ', 6, 'part_number; description; quantity; shipped; serial_numbers; is_care_plan'],
  ['3 ', 6, 'quote; sales_order; invoice; worksheet; ORDER_STATUS; several records'],
  ['4 ', 12, '#1; #2; #3; #4; #5; #6; #7; #8; #9; #10; #11; #12'],
  ['4 ', 3, 'base path; Content-Type; teamID'],
  ['4.1 ', 2, 'request; response'],
  ['4.2 ', 3, 'filters; maxReturn; response'],
  ['4.3 ', 2, 'request; response'],
  ['4.4 ', 2, 'request; response'],
  ['4.5 ', 2, 'request; response'],
  ['4.6 ', 6, 'teamID; storefront_order_number; apiID, apiSecret; response; order; unknown number'],
  ['4.7 ', 2, 'request; response'],
  ['4.8 ', 2, 'request; response'],
  ['4.9 ', 2, 'request; response'],
  ['4.10 ', 2, 'request; response'],
  ['5.', 7, '1; 2; 3; 4; 5; 6; 7'],
  ['7 ', 5, '400 teamID; 400 PIMS; 400 storefront_order_number; 400 lookup; 401'],
  ['8 ', 1, 'metering'],
  ['9 ', 1, 'version'],
  ['calls: order of the checks ', 4, '1; 2; 3; 4'],
  ['calls: ', 3, 'both ways of giving credentials; teamID, apiID, apiSecret in a body; error body'],
  ['calls: ', 2, 'single record that does not exist; writes naming something that does not exist'],
  ['calls: ', 2, 'unknown path, method, media type, too large a body; headers on every answer'],
  ['calls: ', 6, 'maxReturn; order of query results; events, versions; metering; limits; quota and rate limits'],
  ['records: ', 8, 'field names; FUNCTION; values in; values out; dates; quantities; assigned by PIMS; subRecords'],
  ['records: ', 3, 'LINE_REF_LOCK_CODE; PART_CODE, CUSTOMER_CODE, LOCATION_CODE; exact and contains'],
  ['records: ', 3, 'AND and OR; storefront number; lookup order'],
  ['life: ', 5, 'forward only; first stage; worksheets and quotes; sales orders; invoices'],
  ['life: ', 3, 'drop ships; partial invoices; serial numbers'],
  ['fields: ', 5, 'ORDERS; ORDER_LINEITEMS; CUSTOMER; INVENTORY; lookup'],
  ['command line: ', 7, 'npx --no storeroom; serve; tenant create; keys replace; import; export; usage'],
  ['command line: ', 2, '--json and exit codes; beside the service'],
  ['command line: ', 4, 'STOREROOM_DATA; STOREROOM_DATABASE_URL; STOREROOM_PORT; STOREROOM_HOST'],
  ['command line: ', 2, '/healthz; /openapi.json'],
  ['batch: ', 5, 'body; operations; references; literal $; other strings'],
  ['batch: ', 5, 'malformed steps; one transaction; rules; answer; refusal'],
  ['batch: ', 5, 'numbers; metering of steps; metering before the first step; Idempotency-Key; body limit'],
  ['batch: ', 2, 'codes; quota and rate'],
  ['change: ', 6, 'updateOrder; ORDER_TYPE; ORDER_STATUS CANCELLED; DROP_SHIP; invoice; strict'],
  ['change: ', 5, 'cancelOrder; cancelled; invoices stay; twice; lookup'],
  ['reading: ', 6, 'include=lines; include elsewhere; many storefront numbers; one call; op; op without value'],
  ['reading: ', 6, 'numbers; dates; text; keys; times; empty values'],
  ['reading: ', 5, 'text as answered; contains with op; sort; sortable fields; cursor'],
  ['reading: ', 2, 'fields; count'],
  ['reading: ', 3, 'listFields; getUsage; compression'],
  ['etags: ', 4, 'ETag; If-Match; RECORD_CHANGED; If-None-Match'],
  ['etags: ', 3, 'lines; writes of lines; Idempotency-Key'],
  ['keys: ', 6, '20 named pairs; create; list; end; replace; Replace Keys'],
  ['keys: ', 5, 'byKey; scope; read; which pair; from before'],
  ['settled: ', 5, 'what to do; never again; If-Match; limits told; invoice closed'],
  ['settled: ', 5, 'totals; CANCELLED; numbers; dates; filters'],
  ['guide: ', 4, 'partial invoice; repeating a call; QUOTA_EXCEEDED; timeouts'],
  ['guide: ', 5, 'new lines; as sent; another part; SUBTOTAL, ORDER_TOTAL; totals as sent'],
  ['guide: ', 4, 'totals of a partial invoice; returns; LINE_MOVED; worked integration'],
];

interface Row {
  readonly id: string;
  readonly guarantee: string;
  /** Those of the rows it refers to (see `2.3 PART_CODE`) included. */
  readonly tests: readonly { readonly file: string; readonly name: string }[];
}

/** The rows of the document's tables. */
function loadRows(): Row[] {
  const lines = readFileSync(join(ROOT, 'docs/conformance.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| (?!ID )/.test(line));
  const rows = lines.map((line) => {
    const [, id = '', guarantee = '', cell = ''] = /^\| `([^`|]+)` \| ([^|]+) \| ([^|]+) \|$/.exec(line) ?? [];
    assert.ok(id !== '', `a row cannot be read: ${line}`);
    return { id, guarantee, parts: cell.split('<br>') };
  });
  const findTests = (part: string): Row['tests'] => {
    const [, file, name] = /^`([^`]+)` `([^`]+)`$/.exec(part) ?? [];
    if (file !== undefined && name !== undefined) return [{ file, name }];
    const seen = rows.find(({ id }) => part === `see \`${id}\``);
    assert.ok(seen, `neither a test nor a row: ${part}`);
    return seen.parts.flatMap(findTests);
  };
  return rows.map(({ id, guarantee, parts }) => ({ id, guarantee, tests: parts.flatMap(findTests) }));
}

/** A test of a refusal is a call of `refuses` (api/refusals.ts). */
const isTest = (file: string, name: string): boolean =>
  existsSync(join(ROOT, file)) &&
  new RegExp(`\\b(test|refuses)\\((['"])${RegExp.escape(name)}\\2, `).test(readFileSync(join(ROOT, file), 'utf8'));

test('every section has the rules it is counted to have, and no rule is in two', () => {
  const ids = SECTIONS.flatMap(([prefix, count, rules]) => {
    const named = rules.split('; ').map((rule) => prefix + rule);
    assert.equal(named.length, count, prefix);
    return named;
  });
  assert.equal(new Set(ids).size, ids.length);
});

test('every rule has one row in docs/conformance.md, in this order, and no row is of anything else', () => {
  const ids = SECTIONS.flatMap(([prefix, , rules]) => rules.split('; ').map((rule) => prefix + rule));
  assert.deepEqual(
    loadRows().map(({ id }) => id),
    ids,
  );
});

test('every row says what is guaranteed and names at least one test, none twice', () => {
  for (const { id, guarantee, tests } of loadRows()) {
    assert.ok(guarantee.trim().length >= 5, id);
    assert.ok(tests.length > 0, id);
    assert.equal(new Set(tests.map(({ file, name }) => `${file} ${name}`)).size, tests.length, id);
  }
});

test('every test a row names exists under that name in that file', () => {
  const missing = loadRows().flatMap(({ id, tests }) =>
    tests
      .filter(({ file, name }) => !/^test\/.+\.test\.ts$/.test(file) || !isTest(file, name))
      .map(({ file, name }) => `${id}: ${file}: ${name}`),
  );
  assert.deepEqual(missing, []);
});
