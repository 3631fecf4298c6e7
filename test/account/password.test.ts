/** Tests the form of password hashes, how many are made at once, and which passwords are refused with which message. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { dictionary } from '@zxcvbn-ts/language-common';
import { checkPassword, checkStrength, hashPassword } from '../../src/account/password.ts';
import { Refusal } from '../../src/errors.ts';

const ANN = { teamId: 'acme-tools', email: 'ann.smith@hardware.example' };
const PASSWORD = 'lantern gravel poplar seventeen';
/** A hash that the first version made, and its key. */
const KEPT = '$argon2id$v=19$m=19456,t=2,p=1$ru+JF0XFH2l0m/y5EqVCbg$OldChZwkPbCami8YFnf/4YWxfTWQGqNFVBux/Ba3hZA';
const KEPT_KEY = '6CtqjUKyOtUcZ2Mg5JkeKmSHuR8mPucM3lJqshQ+Ruk=';

async function weaknessOf(password: string, name = ANN): Promise<string | undefined> {
  try {
    await checkStrength(password, name);
  } catch (refusal) {
    assert.ok(refusal instanceof Refusal, String(refusal));
    assert.deepEqual([refusal.code, refusal.field], ['WEAK_PASSWORD', 'password']);
    return refusal.message;
  }
  return undefined;
}

suite('hashes', () => {
  test('a hash contains its parameters and salt, and differs every time', async () => {
    const [first, second] = await Promise.all([hashPassword(PASSWORD), hashPassword(PASSWORD)]);
    for (const { hash, key } of [first, second]) {
      assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
      assert.equal(key.length, 32);
      assert.ok(!hash.includes(key.toString('base64').slice(0, 20)), 'The hash has the key in it.');
    }
    assert.notEqual(first.hash, second.hash);
    assert.notDeepEqual(first.key, second.key);
  });

  test('the right password matches and gives the same key each time; any other does not match', async () => {
    const { hash, key } = await hashPassword(PASSWORD);
    assert.deepEqual(await checkPassword(PASSWORD, hash), { matches: true, key });
    const changed = [PASSWORD.toUpperCase(), PASSWORD.slice(1), `${PASSWORD}\0`];
    for (const other of ['', ` ${PASSWORD}`, `${PASSWORD} `, ...changed]) {
      const checked = await checkPassword(other, hash);
      assert.ok(!checked.matches, other);
      assert.notDeepEqual(checked.key, key);
    }
  });

  test('the exact bytes count: composed and decomposed letters are two passwords', async () => {
    const { hash } = await hashPassword('crème brûlée at the seaside'.normalize('NFC'));
    assert.equal((await checkPassword('crème brûlée at the seaside'.normalize('NFC'), hash)).matches, true);
    assert.equal((await checkPassword('crème brûlée at the seaside'.normalize('NFD'), hash)).matches, false);
  });

  test('a hash of the first version can still be checked', async () => {
    const { matches, key } = await checkPassword(PASSWORD, KEPT);
    assert.equal(matches, true);
    assert.equal(key.toString('base64'), KEPT_KEY);
  });

  test('the longest password matches; an empty password or half a character never matches', async () => {
    for (const password of ['', 'A', PASSWORD, '\0', 'x'.repeat(100_000)])
      assert.equal((await checkPassword(password, '')).matches, false);
    const longest = '😀'.repeat(256);
    assert.equal((await checkPassword(longest, (await hashPassword(longest)).hash)).matches, true);
    const { hash } = await hashPassword(`${PASSWORD}\uFFFD`);
    assert.equal((await checkPassword(`${PASSWORD}\uD800`, hash)).matches, false);
  });
});

suite('strength', () => {
  test('400 a password under 15 characters is refused with its length in visible characters', async () => {
    const rest = 'Use at least 15, for example four unrelated words.';
    assert.equal(await weaknessOf(''), `The password has 0 characters. ${rest}`);
    assert.equal(await weaknessOf('k'), `The password has 1 character. ${rest}`);
    assert.match((await weaknessOf('k3yf9xq2mz7wpl'))!, /has 14 characters/);
    assert.match((await weaknessOf('😀🍏🚲🎻🧭🪁🧩🌋🥨🦔🪺🫖🧶🪗'))!, /has 14 characters/);
  });

  test('400 a password over 256 characters is refused; 256 are accepted', async () => {
    const long = randomBytes(256).toString('hex');
    const found = await weaknessOf(long.slice(0, 257));
    assert.equal(found, 'The password has 257 characters. Use at most 256.');
    assert.equal(await weaknessOf(long.slice(0, 256)), undefined);
  });

  test('400 half a character is refused', async () => {
    assert.match((await weaknessOf('k3yf9xq2mz7wpl4\uD83D'))!, /contains an invalid character/);
  });

  test('any random password of 15 characters is accepted, with characters of every kind', async () => {
    for (let count = 0; count < 50; count++)
      assert.equal(await weaknessOf(randomBytes(12).toString('base64url').slice(0, 15)), undefined);
    const odd = ['    lantern poplar   ', 'летомялюблюмолоко', 'ǅ ﷽ \u0000 ‮ ¯\\_(ツ)_/¯ х'];
    for (const password of ['k3yf9xq2mz7wpl4', PASSWORD, ...odd])
      assert.equal(await weaknessOf(password), undefined, password);
  });

  test('400 every password of a list of more than 30,000 common ones that is long enough is refused', async () => {
    assert.ok(dictionary['passwords-common'].length > 30_000);
    const long = dictionary['passwords-common'].filter((password) => password.length >= 15);
    assert.ok(long.length >= 40, String(long.length));
    for (const password of long) assert.ok(await weaknessOf(password), password);
  });

  test('400 repetitions, sequences, rows of keys and common words are refused with a message', async () => {
    assert.match((await weaknessOf('aaaaaaaaaaaaaaaaaa'))!, /much of it is repetition\. Use four unrelated words/);
    assert.match((await weaknessOf('passwordpassword'))!, /repetition/);
    assert.match((await weaknessOf('aaaaa13/02/1987'))!, /much of it is a date/);
    // This password is just strong enough: its score is 3 of 4.
    assert.equal(await weaknessOf('1987-02-13 1988'), undefined);
    const easy = '123456789012345 qwertyuiopasdfgh iloveyouiloveyou abcdefghijklmnopqrstuvwxyz'.split(' ');
    for (const password of [...easy, '😀'.repeat(15)]) {
      const weakness = await weaknessOf(password);
      assert.match(
        weakness!,
        /^The password is too easy to guess: much of it is .+\. Use four unrelated words/,
        password,
      );
      assert.ok(!weakness!.includes(password), 'A message must not quote a password.');
    }
  });

  test('400 the names of the team, the user and the service do not make a password', async () => {
    const names = 'storeroom-acme-2026 ann.smith@hardware.example Acme-Tools-Acme-Tools SmithSmithHardware'.split(' ');
    const refusal = /^The password is (little more than the team ID|too easy to guess)/;
    for (const password of [...names, 'storeroom ann 2026!!'])
      assert.match((await weaknessOf(password)) ?? password, refusal, password);
    assert.equal(await weaknessOf('ann lantern gravel poplar seventeen'), undefined);
    // Ten characters besides the names are enough. If one name contains another, the longer one is removed first.
    assert.equal(await weaknessOf('smithk7#qPwX2vL'), undefined);
    for (const [teamId, user] of [
      ['cat', 'catalogue'],
      ['catalogue', 'cat'],
    ] as const)
      assert.match((await weaknessOf('catalogue'.repeat(3), { teamId, email: `${user}@b.example` }))!, /little more/);
  });

  test('400 characters after the first hundred do not make a weak password strong', async () => {
    assert.ok(await weaknessOf('a'.repeat(100) + randomBytes(40).toString('hex')));
  });
});
