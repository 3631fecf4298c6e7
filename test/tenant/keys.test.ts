/** Tests the rules of named pairs of keys: their names, which pair is replaced, and which pairs are valid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../src/errors.ts';
import { checkKeyName, checkScope, chooseReplaced, endOfDays, refuseNewPair, sortKeys } from '../../src/tenant/keys.ts';
import type { KeyInfo } from '../../src/tenant/tenant-port.ts';
import { times } from '../kit/lists.ts';

const NOW = '2026-11-20T09:30:00.000Z';
const key = (name: string, minute: number, more: Partial<KeyInfo> = {}): KeyInfo => ({
  apiId: `${name}-${minute}`,
  name,
  scope: 'write',
  issuedAt: `2026-11-20T09:${String(minute).padStart(2, '0')}:00.000Z`,
  issuedBy: 'ann@example.com',
  endsAt: '',
  isReplaced: false,
  ...more,
});
const namesOf = (keys: readonly KeyInfo[]): string[] => keys.map(({ apiId, isReplaced }) => `${apiId} ${isReplaced}`);

test('a name is 1 to 64 letters, digits, spaces, dots, underscores and hyphens, and no secret', () => {
  const isGood = (name: string): boolean => {
    try {
      checkKeyName(name);
      return true;
    } catch (fault) {
      assert.ok(fault instanceof Refusal);
      assert.deepEqual([fault.code, fault.field], ['COMMAND_REFUSED', 'name']);
      return false;
    }
  };
  for (const name of ['a', '7', 'Web shop', 'a.b_c-d', 'x'.repeat(64)]) assert.ok(isGood(name), name);
  for (const name of ['', ' ', 'a ', ' a', '-a', 'a.', 'x'.repeat(65), 'a\tb', 'a"b', 'ü', 'SR_SK_a', 'x sr_sk_1'])
    assert.ok(!isGood(name), JSON.stringify(name));
});

test('the newest of a name is in force, and the pairs that it replaced follow', () => {
  const given = [key('b', 9), key('a', 7), key('c', 5), key('a', 3, { endsAt: NOW }), key('b', 1, { endsAt: NOW })];
  assert.deepEqual(namesOf(sortKeys(given)), ['c-5 false', 'a-7 false', 'b-9 false', 'a-3 true', 'b-1 true']);
  assert.deepEqual(sortKeys([]), []);
});

test('the pair to replace: the one named, else default, else the oldest, else the first of all', () => {
  const [reports, shop] = [key('reports', 1, { scope: 'read' }), key('shop', 2)];
  const chosen = (keys: KeyInfo[], asked?: string): unknown => {
    const terms = chooseReplaced(keys, asked, false);
    return terms instanceof Refusal ? `${terms.code} ${terms.field}` : `${terms.name} ${terms.scope}`;
  };
  assert.equal(chosen([]), 'default write');
  assert.equal(chosen([], 'default'), 'COMMAND_REFUSED name');
  assert.equal(chosen([reports, shop]), 'reports read');
  assert.equal(chosen([reports, shop, key('default', 3)]), 'default write');
  assert.equal(chosen([reports, shop], 'shop'), 'shop write');
  assert.equal(chosen([reports, shop], 'Shop'), 'COMMAND_REFUSED name');
});

test('at most 20 names are in force, and at most 20 replaced pairs valid beside them', () => {
  const inForce = times(20, (index) => key(`n${index}`, index));
  const replaced = times(20, (index) => key('n0', 30 + index, { isReplaced: true }));
  assert.equal(refuseNewPair([...inForce.slice(1), ...replaced], 'another'), undefined);
  assert.equal(refuseNewPair(inForce, 'another')?.code, 'COMMAND_REFUSED');
  assert.match(refuseNewPair([key('shop', 1)], 'SHOP')!.message, /is in use/);
  const choose = (count: number, hasOverlap: boolean): boolean =>
    chooseReplaced([...inForce, ...replaced.slice(0, count)], 'n1', hasOverlap) instanceof Refusal;
  assert.deepEqual([choose(19, true), choose(20, true), choose(20, false)], [false, true, false]);
});

test('a pair with days ends after them, one without does not end; only the scope read prevents writes', () => {
  assert.equal(endOfDays(30, Date.parse(NOW)), '2026-12-20T09:30:00.000Z');
  assert.equal(endOfDays(undefined, Date.parse(NOW)), '');
  for (const caller of [null, key('a', 1)]) assert.doesNotThrow(() => checkScope(caller, 'write'));
  const scopes = ['read', 'write', 'office'] as const;
  for (const [at, scope] of scopes.entries())
    for (const [needed, wanted] of scopes.entries()) {
      const check = (): void => checkScope(key('a', 1, { scope }), wanted);
      if (needed <= at) assert.doesNotThrow(check);
      else assert.throws(check, { code: 'SCOPE_MISSING', message: new RegExp(`scope ${wanted}`) });
    }
});
