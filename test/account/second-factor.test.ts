/** Tests the second factor: base32 (RFC 4648), codes and their time windows (RFC 6238), sealing, and recovery codes. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import {
  decodeBase32,
  encodeBase32,
  findStep,
  newRecoveryCodes,
  newSecret,
  openSecret,
  parseRecoveryCode,
  parseSecret,
  sealSecret,
  formatCode,
  formatUri,
} from '../../src/account/second-factor.ts';

const ANN = { teamId: 'acme', email: 'ann@example.com' };
const RFC_SECRET = Buffer.from('12345678901234567890');

suite('base32', () => {
  test('the vectors of RFC 4648, without padding', () => {
    const codes = ['', 'MY', 'MZXQ', 'MZXW6', 'MZXW6YQ', 'MZXW6YTB', 'MZXW6YTBOI'];
    for (const [length, encoded] of codes.entries()) {
      const plain = 'foobar'.slice(0, length);
      assert.equal(encodeBase32(Buffer.from(plain)), encoded);
      assert.equal(decodeBase32(encoded)?.toString(), plain);
    }
  });

  test('decoding returns the encoded bytes, and each byte sequence has one text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) =>
        assert.deepEqual(decodeBase32(encodeBase32(bytes)), Buffer.from(bytes)),
      ),
    );
    for (const text of ['M', 'MZ=', 'mz', 'MZ0', 'MZXW6===', 'MZ XQ', 'MZXR', 'É'])
      assert.equal(decodeBase32(text), undefined, text);
  });
});

suite('codes', () => {
  test('the vectors of RFC 6238 (SHA-1)', () => {
    // The vectors have eight digits. The last six are the six-digit code.
    const vectors = {
      59: '287082',
      1111111109: '081804',
      1111111111: '050471',
      1234567890: '005924',
      2000000000: '279037',
      20000000000: '353130',
    };
    for (const [seconds, code] of Object.entries(vectors)) {
      assert.equal(formatCode(RFC_SECRET, Math.floor(Number(seconds) / 30)), code);
      assert.equal(findStep(RFC_SECRET, code, Number(seconds) * 1000), Math.floor(Number(seconds) / 30));
    }
  });

  test('a code is valid one step before and after its own, and not two', () => {
    const nowMs = Date.parse('2026-11-20T09:30:07.000Z');
    const step = Math.floor(nowMs / 30_000);
    for (let count = 0; count < 200; count++) {
      const secret = newSecret();
      const near = new Set([-1, 0, 1].map((away) => formatCode(secret, step + away)));
      for (const away of [-1, 0, 1])
        assert.ok(near.has(formatCode(secret, findStep(secret, formatCode(secret, step + away), nowMs)!)));
      for (const away of [-3, -2, 2, 3]) {
        const code = formatCode(secret, step + away);
        if (!near.has(code)) assert.equal(findStep(secret, code, nowMs), undefined);
      }
    }
  });

  test('only six digits are a code; spaces between them do not matter', () => {
    const code = formatCode(RFC_SECRET, 1);
    assert.equal(findStep(RFC_SECRET, `${code.slice(0, 3)} ${code.slice(3)} `, 31_000), 1);
    const digits = ['１２３４５６', '٢٨٧٠٨٢', '²87082'];
    for (const text of ['', '28708', '2870821', '28708a', `-${code}`, '0x1234', ...digits])
      assert.equal(findStep(RFC_SECRET, text, 31_000), undefined, text);
  });

  test('the address in the QR code has the secret and the names of service, team and user', () => {
    const uri = new URL(formatUri({ teamId: 'acme', email: 'ann+x&y=z#?@example.com' }, RFC_SECRET));
    assert.equal(uri.protocol + uri.host, 'otpauth:totp');
    assert.equal(decodeURIComponent(uri.pathname), '/Storeroom:ann+x&y=z#?@example.com (acme)');
    assert.deepEqual(Object.fromEntries(uri.searchParams), {
      secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
      issuer: 'Storeroom',
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    });
  });

  test('a secret is read in any way of typing it; a shorter one is refused', () => {
    const secret = newSecret();
    assert.equal(secret.length, 20);
    const text = encodeBase32(secret);
    assert.deepEqual(parseSecret(`${text.slice(0, 8).toLowerCase()} ${text.slice(8)}`), secret);
    for (const wrong of ['', text.slice(0, 31), text.slice(0, 16), `${text}A`, `${text.slice(0, 31)}1`])
      assert.equal(parseSecret(wrong), undefined);
  });
});

suite('sealing', () => {
  test('a sealed secret opens with its key for its user, and differs every time', () => {
    const [secret, key] = [newSecret(), randomBytes(32)];
    assert.deepEqual(openSecret(sealSecret(secret, key, ANN), key, ANN), secret);
    assert.notDeepEqual(sealSecret(secret, key, ANN), sealSecret(secret, key, ANN));
    assert.ok(!sealSecret(secret, key, ANN).includes(secret));
  });

  test('it does not open with another key, for another user or with a changed bit', () => {
    const [secret, key] = [newSecret(), randomBytes(32)];
    const sealed = sealSecret(secret, key, ANN);
    assert.throws(() => openSecret(sealed, randomBytes(32), ANN), /cannot be decrypted/);
    assert.throws(() => openSecret(sealed, key, { ...ANN, email: 'bob@example.com' }), /cannot be decrypted/);
    assert.throws(() => openSecret(sealed, key, { ...ANN, teamId: 'other' }), /cannot be decrypted/);
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      assert.throws(() => openSecret(changed, key, ANN), /cannot be decrypted/, `bit ${bit}`);
    }
    for (let length = 0; length < sealed.length; length++)
      assert.throws(() => openSecret(sealed.subarray(0, length), key, ANN), /cannot be decrypted/, `${length} bytes`);
  });
});

suite('recovery codes', () => {
  test('ten different ones of 24 characters, of which only hashes are kept', () => {
    const { codes, hashes } = newRecoveryCodes();
    assert.equal(new Set(codes).size, 10);
    for (const [index, code] of codes.entries()) {
      assert.match(code, /^([A-Z2-7]{6}-){3}[A-Z2-7]{6}$/);
      assert.equal(hashes[index]!.length, 32);
      assert.deepEqual(parseRecoveryCode(code), hashes[index]);
    }
  });

  test('spaces, dashes and case do not matter; a code of another length or with other characters is refused', () => {
    const { codes, hashes } = newRecoveryCodes();
    const [code, hash] = [codes[0]!, hashes[0]];
    const spaced = [code.replaceAll('-', ' '), ` ${code}\n`, Array.from(code).join('-')];
    for (const typed of [code.toLowerCase(), code.replaceAll('-', ''), ...spaced])
      assert.deepEqual(parseRecoveryCode(typed), hash, typed);
    for (const typed of ['', '123456', code.slice(1), `${code}A`, code.replace(/.$/, '1')])
      assert.equal(parseRecoveryCode(typed), undefined, typed);
  });
});
