/** Tests the names and the first settings of a tenant, and when its replaced keys end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../src/errors.ts';
import { endOfOverlap, isKeyValid, OVERLAPS, OVERLAPS_MS } from '../../src/tenant/keys.ts';
import { checkTeamId, checkTenantName, FIRST_SETTINGS, refuseTaken } from '../../src/tenant/tenant.ts';

const NOW = '2026-11-20T09:30:00.000Z';

/** Returns whether the check passes. Its refusal has to name the field. */
function isGood(check: (text: string) => void, text: string, field: string): boolean {
  try {
    check(text);
    return true;
  } catch (fault) {
    assert.ok(fault instanceof Refusal);
    assert.deepEqual([fault.code, fault.field], ['COMMAND_REFUSED', field]);
    return false;
  }
}

test('a team ID is 1 to 64 letters, digits, dots, underscores and hyphens, and begins with a letter or a digit', () => {
  const good = ['a', 'Z', '0', 'shop-1', 'a.b_c-D', 'a'.repeat(64)];
  const bad = ['', '-a', '.a', '_a', 'a b', 'a/b', 'é', 'a'.repeat(65), ' a', 'a ', 'a\n'];
  for (const teamId of good) assert.ok(isGood(checkTeamId, teamId, 'teamID'), teamId);
  for (const teamId of bad) assert.ok(!isGood(checkTeamId, teamId, 'teamID'), JSON.stringify(teamId));
});

test('a name is 1 to 200 characters on one line, with a visible one', () => {
  for (const name of ['A', 'Café Ωmega 🚀', 'x'.repeat(200)]) assert.ok(isGood(checkTenantName, name, 'name'), name);
  for (const name of ['', '   ', 'x'.repeat(201), 'a\nb', 'a\0', '\uD800'])
    assert.ok(!isGood(checkTenantName, name, 'name'), JSON.stringify(name));
});

test('a tenant begins with worksheets, accepts any code, and has no limits', () => {
  assert.deepEqual(FIRST_SETTINGS, {
    defaultStage: 'worksheet',
    strict: false,
    monthQuota: null,
    ownQuota: null,
    callsPerSecond: null,
  });
  assert.match(refuseTaken('shop').message, /'shop'/);
});

test('replaced keys end at once, in an hour, a day or a week; at that moment they are no longer valid', () => {
  const ends = OVERLAPS.map((overlap) => [overlap, endOfOverlap(overlap, Date.parse(NOW))]);
  assert.deepEqual(ends, [
    ['none', NOW],
    ['1h', '2026-11-20T10:30:00.000Z'],
    ['24h', '2026-11-21T09:30:00.000Z'],
    ['7d', '2026-11-27T09:30:00.000Z'],
  ]);
  assert.deepEqual(OVERLAPS, Object.keys(OVERLAPS_MS));
  const valid = ['', NOW, '2026-11-20T09:30:00.001Z', '2026-11-20T09:29:59.999Z'].map((end) => isKeyValid(end, NOW));
  assert.deepEqual(valid, [true, false, true, false]);
});
