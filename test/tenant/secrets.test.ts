/** Tests that texts with a secret, plain or encoded once, are hidden, and that every other text is shown unchanged. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { issueKey } from '../../src/tenant/credentials.ts';
import { HIDDEN, hideSecrets, hideSecretsInJson, isSecretName } from '../../src/tenant/secrets.ts';
import { COSTLY } from '../kit/costly-texts.ts';

const percent = (text: string): string => Array.from(Buffer.from(text), toPercent).join('');
const toPercent = (byte: number): string => `%${byte.toString(16).padStart(2, '0')}`;
const escape = (text: string): string =>
  Array.from(text, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

/** Encodings that a caller may apply to a text. */
const CLOTHES: Record<string, (text: string) => string> = {
  'URI component': (text) => encodeURIComponent(text).replaceAll('_', '%5F'),
  percent,
  JSON: escape,
  'a text of JSON': (text) => JSON.stringify(JSON.stringify(text)).replaceAll('_', '\\\\u005F'),
  'escapes of JavaScript': (text) => text.replaceAll('_', '\\x5f'),
  'escapes of Markdown': (text) => text.replaceAll('_', '\\_'),
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  'base64 in lines': (text) => Buffer.from(text).toString('base64').replace(/.{64}/g, '$&\n'),
  'base64 behind a path': (text) => `a/bc${Buffer.from(text).toString('base64')}`,
  hex: (text) => Buffer.from(text).toString('hex'),
  'hex in lines': (text) => Buffer.from(text).toString('hex').toUpperCase().replace(/.{60}/g, '$&\n'),
};
const worn = fc.constantFrom(...Object.keys(CLOTHES));

test('a secret or a pair in any encoding, alone or in another text, is hidden whole', () => {
  const { apiId, apiSecret } = issueKey();
  for (const [name, dress] of Object.entries(CLOTHES))
    for (const text of [apiSecret, `${apiId}:${apiSecret}`, `apiSecret=${apiSecret}&teamID=one`, `ü ${apiSecret}`])
      for (const sent of [dress(text), `x=${dress(text)}`]) assert.equal(hideSecrets(sent), HIDDEN, `${name}: ${sent}`);
});

test('a secret that signs messages of a webhook is hidden like one of the API', () => {
  const secret = `whsec_${Buffer.alloc(32, 0xfb).toString('base64')}`;
  assert.equal(hideSecrets(`signed with ${secret}.`), `signed with whsec_${HIDDEN}.`);
  assert.equal(hideSecretsInJson(JSON.stringify({ NOTES: secret })), `{"NOTES":"whsec_${HIDDEN}"}`);
  for (const [name, dress] of Object.entries(CLOTHES)) assert.equal(hideSecrets(dress(secret)), HIDDEN, name);
});

test('nested escapes over any encoding are hidden too, and percent-encoding nested at any depth', () => {
  const { apiId, apiSecret } = issueKey();
  fc.assert(
    fc.property(worn, fc.constantFrom(percent, escape), fc.nat(2), (name, escaped, shift) => {
      const text = escaped(CLOTHES[name]!(`${'x'.repeat(shift)}${apiId}:${apiSecret}`));
      assert.equal(hideSecrets(text), HIDDEN, `${name}: ${text}`);
    }),
    { numRuns: 500 },
  );
  for (let sent = percent(apiSecret), times = 1; times < 10; times++, sent = encodeURIComponent(sent))
    assert.equal(hideSecrets(sent), HIDDEN, `${times} times`);
});

test('a secret inside a long text is hidden at any position', () => {
  const secret = Buffer.from(issueKey().apiSecret).toString('base64');
  for (let before = 0; before < 5000; before += 97)
    assert.equal(hideSecrets(`${'long '.repeat(before / 5)}${secret} and more`), HIDDEN, String(before));
});

test('a plain secret is cut out of its text; other credentials and passwords in addresses are hidden', () => {
  const { apiSecret } = issueKey();
  assert.equal(HIDDEN, '…');
  assert.equal(hideSecrets(`before ${apiSecret} after`), `before sr_sk_${HIDDEN} after`);
  assert.equal(hideSecrets(`${apiSecret.slice(0, 20)}${percent(apiSecret.slice(20))}`), HIDDEN);
  for (const text of [
    'Basic c3I6c2VjcmV0',
    'bearer abcdef.ghijk1',
    'Basic%20c3I6c2VjcmV0',
    'Basic\\nc3I6c2VjcmV0',
    'http://ann:secret@host/',
  ])
    assert.equal(hideSecrets(text), HIDDEN, text);
});

test('texts without a secret are shown unchanged', () => {
  const shown = [
    '',
    '#1001',
    '50%20off',
    'a\\b',
    'C:\\new\\x',
    'https://example.com/a:b?c=d%2Fe',
    'Basic training',
    'VINET '.repeat(500),
    'x'.repeat(3000),
    '0123456789abcdef'.repeat(8),
    '{"a":"\\u00fc\\n"}',
    '%%%',
    'sr_id_0123456789012345678901',
    'There is no order 7.',
    Buffer.from('There is no secret in this text, which is long enough to be searched.').toString('base64'),
  ];
  for (const text of shown) assert.equal(hideSecrets(text), text);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => assert.equal(hideSecrets(text), text)),
  );
});

test('in JSON, members with the name of a secret are hidden, and all of it when the secret is spread over it', () => {
  const hide = (value: unknown): unknown => JSON.parse(hideSecretsInJson(JSON.stringify(value)));
  const { apiSecret } = issueKey();
  assert.deepEqual(hide({ CITY: 'Bern', password: 'a "b" c', Api_Secret: 7, on: true, NOTES: percent(apiSecret) }), {
    CITY: 'Bern',
    password: HIDDEN,
    Api_Secret: HIDDEN,
    on: true,
    NOTES: HIDDEN,
  });
  assert.deepEqual(hide({ NOTES: `pair ${apiSecret}` }), { NOTES: `pair sr_sk_${HIDDEN}` });
  assert.deepEqual(hide([{ a: { currentPassword: 'x\\' }, b: [`pair ${apiSecret}`] }, 'auth']), [
    { a: { currentPassword: HIDDEN }, b: [`pair sr_sk_${HIDDEN}`] },
    'auth',
  ]);
  for (const spread of [{ password: ['a', 'b'] }, { token: { a: 'b' } }, [{ field: 'password', value: 'hunter2' }]])
    assert.equal(hide(spread), HIDDEN);
  for (const value of [{ NOTES: 'The token of the customer: lost' }, [{ field: 'NOTES', value: 'secret' }], {}, [], 1])
    assert.deepEqual(hide(value), value);
});

test('names of secrets are recognised in any case, also encoded', () => {
  for (const name of [
    'authorization',
    'Proxy-Authorization',
    'password',
    'newPassword',
    'PASSWD',
    'pwd',
    'pass',
    'apisecret',
    'api_key',
    'X-API-Key',
    'access_token',
    'credentials',
    'Cookie',
    'p%61ssword',
    'pass%2577ord',
    'p\\u0061ssword',
  ])
    assert.ok(isSecretName(name), name);
  for (const name of ['orderNum', 'PASSENGER', 'AUTHOR', 'AUTHORIZED_BY', 'COMPASS', 'storefront_order_number', ''])
    assert.ok(!isSecretName(name), name);
});

test('a secret after a text that is made to be expensive is hidden, at any length of the text', () => {
  const secret = Buffer.from(issueKey().apiSecret).toString('base64');
  for (const unit of COSTLY) {
    const text = `${unit.repeat(Math.ceil((256 * 1024) / unit.length))} ${secret}`;
    assert.equal(hideSecrets(text), HIDDEN, unit);
    assert.ok(!hideSecretsInJson(JSON.stringify({ a: text })).includes(secret), unit);
  }
});
