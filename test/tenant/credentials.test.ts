/** Tests that issued keys are recognised and mistyped ones are not, and that a Basic header has one strict form. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import {
  CALLER_PARAMETERS,
  hashSecret,
  issueKey,
  looksLikeSecret,
  parseBasic,
  RejectedCalls,
  sameHash,
} from '../../src/tenant/credentials.ts';

const ALPHABET = Array.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
const KEYS = 10_000;
const encode = (text: string | Uint8Array): string => `Basic ${Buffer.from(text as string).toString('base64')}`;

suite('keys', () => {
  const keys = Array.from({ length: KEYS }, issueKey);
  const replaceAt = (text: string, index: number, character: string): string =>
    text.slice(0, index) + character + text.slice(index + 1);

  test(`${KEYS} generated keys are all of the documented form, recognised and different`, () => {
    for (const { apiId, apiSecret, secretHash } of keys) {
      assert.match(apiId, /^sr_id_[0-9A-Za-z]{22}$/);
      assert.match(apiSecret, /^sr_sk_[0-9A-Za-z]{49}$/);
      assert.ok(looksLikeSecret(apiSecret));
      assert.ok(sameHash(secretHash, hashSecret(apiSecret)));
    }
    assert.equal(new Set(keys.map(({ apiId }) => apiId)).size, KEYS);
    assert.equal(new Set(keys.map(({ apiSecret }) => apiSecret)).size, KEYS);
  });

  test('the characters of a key are equally likely', () => {
    const counts = new Map(ALPHABET.map((character) => [character, 0]));
    for (const { apiId, apiSecret } of keys)
      for (const character of apiId.slice(6) + apiSecret.slice(6, -6))
        counts.set(character, counts.get(character)! + 1);
    const expected = (KEYS * 65) / 62;
    // The bound is seven standard deviations. Chance exceeds it less than once in ten billion runs.
    for (const [character, count] of counts)
      assert.ok(Math.abs(count - expected) < 7 * Math.sqrt(expected), `${character}: ${count}, not about ${expected}`);
  });

  test(`a wrong character at any position of any of ${KEYS} keys is noticed`, () => {
    for (const [number, { apiSecret }] of keys.entries())
      for (let index = 0; index < apiSecret.length; index++) {
        const typed = ALPHABET[(number + index) % 62]!;
        if (typed !== apiSecret[index])
          assert.ok(!looksLikeSecret(replaceAt(apiSecret, index, typed)), `place ${index} of ${number}`);
      }
  });

  test('every wrong character at every position is noticed', () => {
    for (const { apiSecret } of keys.slice(0, 20))
      for (let index = 0; index < apiSecret.length; index++)
        for (const typed of [...ALPHABET, ' ', '_', '-', 'é'])
          if (typed !== apiSecret[index])
            assert.ok(!looksLikeSecret(replaceAt(apiSecret, index, typed)), `${typed} at ${index}`);
  });

  test('a missing or additional character, or two swapped neighbours, are noticed', () => {
    for (const { apiSecret } of keys.slice(0, 200))
      for (let index = 0; index < apiSecret.length; index++) {
        const [here, next = ''] = [apiSecret[index]!, apiSecret[index + 1]];
        assert.ok(!looksLikeSecret(apiSecret.slice(0, index) + apiSecret.slice(index + 1)));
        assert.ok(!looksLikeSecret(apiSecret.slice(0, index) + here + apiSecret.slice(index)));
        if (next !== '' && here !== next)
          assert.ok(!looksLikeSecret(apiSecret.slice(0, index) + next + here + apiSecret.slice(index + 2)));
      }
    for (const text of ['', 'sr_sk_', `${keys[0]!.apiSecret}\n`, keys[0]!.apiSecret.toLowerCase(), keys[0]!.apiId])
      assert.ok(!looksLikeSecret(text), text);
  });

  test('a hash depends on its secret alone', () => {
    assert.equal(hashSecret('abc').toString('hex'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    assert.ok(!sameHash(keys[0]!.secretHash, keys[1]!.secretHash));
  });
});

suite('the Basic header', () => {
  test('the first colon separates ID and secret; the scheme may have any case and several spaces after it', () => {
    assert.deepEqual(parseBasic(encode('id:secret')), { apiId: 'id', apiSecret: 'secret' });
    assert.deepEqual(parseBasic(encode('id:a:b:')), { apiId: 'id', apiSecret: 'a:b:' });
    assert.deepEqual(parseBasic(encode('id:')), { apiId: 'id', apiSecret: '' });
    for (const scheme of ['basic', 'BASIC', 'bAsIc', 'Basic '])
      assert.deepEqual(parseBasic(`${scheme} aWQ6cw==`), { apiId: 'id', apiSecret: 's' });
  });

  test('any ID and secret are parsed unchanged', () => {
    const character = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
    const text = fc
      .string({ unit: character, maxLength: 60 })
      .filter((one) => one.isWellFormed() && !one.includes('\uFFFD'));
    const apiId = text.filter((one) => one !== '' && !one.includes(':'));
    fc.assert(
      fc.property(apiId, text, (id, apiSecret) => {
        const header = encode(`${id}:${apiSecret}`);
        assert.deepEqual(parseBasic(header), header.length > 512 ? null : { apiId: id, apiSecret });
      }),
    );
  });

  test('a missing Basic header is distinguished from one that cannot be parsed', () => {
    const others = ['', 'Bearer x', 'Digest username="a"', 'Basics aWQ6cw==', 'aWQ6cw==', ' Basic aWQ6cw=='];
    for (const header of [undefined, ...others]) assert.equal(parseBasic(header), undefined, String(header));
    for (const header of ['Basic', 'Basic ', 'basic x']) assert.equal(parseBasic(header), null, header);
  });

  test('only strict base64 of UTF-8 is accepted', () => {
    const table: Record<string, string> = {
      'Basic aWQ6cw': 'padding is missing',
      'Basic aWQ6cw=': 'padding is short',
      'Basic aWQ6cw===': 'padding is long',
      'Basic aWQ6cw==aWQ6': 'padding in the middle',
      'Basic aWQ6cx==': 'bits left over',
      'Basic aWQ6c3R=': 'bits left over',
      'Basic aWQ6cw== ': 'a space behind',
      'Basic aWQ6 cw==': 'a space within',
      'Basic aWQ6cw==\n': 'a line break',
      'Basic aWQ6cw!!': 'other characters',
      'Basic aWQ6-_-_': 'the alphabet of URLs',
      'Basic aWQ6cw==,Basic aWQ6cw==': 'two in one',
      'Basic \taWQ6cw==': 'a tab',
      [encode('nocolon')]: 'no colon',
      [encode(':secret')]: 'no API ID',
      [encode(Buffer.from([0x69, 0x3a, 0xff]))]: 'no UTF-8',
      [encode(Buffer.from([0x69, 0x3a, 0xc0, 0x80]))]: 'an overlong NUL',
      [encode(Buffer.from([0x69, 0x3a, 0xed, 0xa0, 0x80]))]: 'half of a surrogate pair',
    };
    for (const [header, why] of Object.entries(table)) assert.equal(parseBasic(header), null, why);
  });

  test('only canonical base64 of a text is accepted: no other spelling gives the same credentials', () => {
    const header = fc
      .tuple(fc.base64String({ maxLength: 40 }), fc.nat(40), fc.constantFrom('', ' ', '=', '-', '\u00e9', '\n'))
      .map(([text, at, extra]) => text.slice(0, at) + extra + text.slice(at));
    fc.assert(
      fc.property(header, (text) => {
        const read = parseBasic(`Basic ${text}`);
        if (read) assert.equal(encode(`${read.apiId}:${read.apiSecret}`), `Basic ${text}`);
      }),
      { numRuns: 2000 },
    );
  });

  test('three parameters identify the caller', () => {
    assert.deepEqual(CALLER_PARAMETERS, ['teamID', 'apiID', 'apiSecret']);
  });

  test('at most 512 bytes are accepted', () => {
    const ofLength = (length: number): string => encode(`id:${'s'.repeat(length)}`);
    assert.equal(ofLength(375).length, 510);
    assert.equal(parseBasic(ofLength(375))?.apiSecret.length, 375);
    assert.equal(ofLength(378).length, 514);
    assert.equal(parseBasic(ofLength(378)), null);
  });
});

test('with more names than are kept, only the one that was least recently used is dropped', () => {
  const rejected = new RejectedCalls();
  const call = { at: '2026-11-29T00:00:00.000Z', client: '192.0.2.1', method: 'GET', path: '/x', apiID: 'a' };
  for (let n = 0; n < 500; n++) rejected.noteRejected(`team-${n}`, call);
  for (let again = 0; again < 10; again++) rejected.noteRejected('team-0', call);
  assert.equal(rejected.listRejected('team-1').length, 1, 'a known name displaces none');
  rejected.noteRejected('another', call);
  assert.deepEqual(
    ['team-0', 'team-1', 'team-2', 'another'].map((name) => rejected.listRejected(name).length),
    [11, 0, 1, 1],
  );
});
