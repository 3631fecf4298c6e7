/** Tests the Authorization header, written by hand: its canonical form authenticates, and none of a hundred others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { basicOf, stockShop, targetOf } from '../kit/operations.ts';
import { exchange, send, writeRequest, type RawAnswer } from '../kit/raw-http.ts';
import { sharedService } from '../kit/service.ts';

const service = await sharedService();
const shop = await stockShop(service, 'shop');
const target = targetOf(shop.call('getOrder'), 'shop');

const base64 = (content: string | Buffer): string => Buffer.from(content).toString('base64');
const get = (...lines: string[]): Promise<RawAnswer> => send(service.origin, writeRequest('GET', target, lines));

test('200 the scheme in any case and spaces around the whole value are accepted', async () => {
  const canonical = basicOf(shop.keys);
  const cases = ['Basic', 'basic', 'BASIC'].map((scheme) => canonical.replace('Basic', scheme));
  const spaced = canonical.replace(' ', '    ');
  for (const value of [...cases, spaced, `   ${canonical}  `, `\t${canonical}\t`])
    assert.equal((await get(`Authorization: ${value}`)).status, 200, value);
});

/** Returns wrong values of the header, made from a valid ID and secret, by what is wrong with them. */
function craftValues(id: string, secret: string): Record<string, string> {
  const pair = `${id}:${secret}`;
  const good = base64(pair);
  /** The pair with a length that base64 must pad. */
  const padded = `${pair}x`.slice(0, pair.length - (pair.length % 3) + 1);
  const encoded: Record<string, string | Buffer> = {
    'no colon': id + secret,
    'nothing but a colon': ':',
    'no ID': `:${secret}`,
    'no secret': `${id}:`,
    'no secret and no colon': id,
    'two colons': `${id}::${secret}`,
    'a colon at the end': `${pair}:`,
    'a colon at the start': `:${pair}`,
    'ID and secret exchanged': `${secret}:${id}`,
    'the ID twice': `${id}:${id}`,
    'the secret twice': `${secret}:${secret}`,
    'the pair twice': `${pair}:${pair}`,
    'the team before the ID': `shop/${pair}`,
    'the team as user': `shop:${secret}`,
    'a space before the ID': ` ${pair}`,
    'a space after the ID': `${id} :${secret}`,
    'a space before the secret': `${id}: ${secret}`,
    'a space after the secret': `${pair} `,
    'a line feed after the secret': `${pair}\n`,
    'a line end after the secret': `${pair}\r\n`,
    'a tab after the secret': `${pair}\t`,
    'a NUL after the secret': `${pair}\0`,
    'a NUL after the ID': `${id}\0:${secret}`,
    'a NUL before the ID': `\0${pair}`,
    'more after a NUL': `${pair}\0more`,
    'a letter too few': pair.slice(0, -1),
    'a letter too many': `${pair}x`,
    'an ID a letter too short': `${id.slice(0, -1)}:${secret}`,
    'an ID a letter too long': `${id}x:${secret}`,
    'an ID in uppercase': `${id.toUpperCase()}:${secret}`,
    'an ID in lowercase': `${id.toLowerCase()}:${secret}`,
    'a secret in uppercase': `${id}:${secret.toUpperCase()}`,
    'a secret in lowercase': `${id}:${secret.toLowerCase()}`,
    'a mistyped checksum': `${id}:${secret.slice(0, -1)}${secret.endsWith('0') ? '1' : '0'}`,
    'a mistyped letter': `${id}:${secret.slice(0, 8)}${secret[8] === '0' ? '1' : '0'}${secret.slice(9)}`,
    'the secret backwards': `${id}:${secret.split('').toReversed().join('')}`,
    'a wildcard for a secret': `${id}:%`,
    'a wildcard for an ID': `%:${secret}`,
    'SQL for an ID': `' OR ''=':${secret}`,
    'quotes around': `"${id}":"${secret}"`,
    JSON: JSON.stringify({ apiID: id, apiSecret: secret }),
    parameters: `apiID=${id}&apiSecret=${secret}`,
    'percent-encoded': encodeURIComponent(pair),
    'a comma for the colon': `${id},${secret}`,
    'a full-width colon': `${id}：${secret}`,
    'full-width letters': pair.replaceAll('s', 'ｓ'),
    'Cyrillic letters': pair.replaceAll('s', 'ѕ'),
    'a combining accent': `${pair}\u0301`,
    'a zero-width space': `${pair}\u200B`,
    'a byte order mark': `\uFEFF${pair}`,
    'UTF-16': Buffer.from(pair, 'utf16le'),
    'a lone high byte': Buffer.concat([Buffer.from(pair), Buffer.from([0xff])]),
    'an overlong NUL': Buffer.concat([Buffer.from(pair), Buffer.from([0xc0, 0x80])]),
    'half a surrogate pair': Buffer.concat([Buffer.from(pair), Buffer.from([0xed, 0xa0, 0x80])]),
    nothing: '',
    'base64 twice': good,
    'the header within': `Basic ${good}`,
    'a long tail': pair + 'x'.repeat(400),
    'a tail of 5 KiB': pair + 'x'.repeat(5000),
  };
  const asIs: Record<string, string> = {
    'no value': '',
    'the scheme alone': 'Basic',
    'no space': `Basic${good}`,
    'a tab': `Basic\t${good}`,
    'a colon after the scheme': `Basic: ${good}`,
    'an equals sign': `Basic=${good}`,
    'a comma': `Basic, ${good}`,
    quotes: `Basic "${good}"`,
    brackets: `Basic <${good}>`,
    'a parameter before': `Basic realm="x", ${good}`,
    'a parameter after': `Basic ${good}, realm="x"`,
    'a semicolon after': `Basic ${good};`,
    'two in one': `Basic ${good}, Basic ${good}`,
    'a Bearer after': `Basic ${good}, Bearer x`,
    'a Bearer before': `Bearer x, Basic ${good}`,
    'the scheme twice': `Basic Basic ${good}`,
    'a space inside': `Basic ${good.slice(0, 8)} ${good.slice(8)}`,
    'garbage at the end': `Basic ${good}!`,
    'garbage inside': `Basic ${good.slice(0, 8)}*${good.slice(8)}`,
    'the alphabet of URLs': `Basic ${base64(`${pair}\u{3FF}?>~`).replaceAll('+', '-').replaceAll('/', '_')}`,
    'without its padding': `Basic ${base64(padded).replace(/=+$/, '')}`,
    'padding it does not need': `Basic ${good}=`,
    'two characters of padding too many': `Basic ${good}==`,
    'a block of padding': `Basic ${good}====`,
    'padding at the start': `Basic =${good}`,
    'padding inside': `Basic ${good.slice(0, 8)}==${good.slice(8)}`,
    'bits after the end': 'Basic YR==',
    'a letter cut off': `Basic ${good.slice(0, -1)}`,
    hexadecimal: `Basic ${Buffer.from(pair).toString('hex')}`,
    'plain text': `Basic ${pair}`,
    'plain text without scheme': pair,
    'base64 without scheme': good,
    'percent-encoded base64': `Basic ${encodeURIComponent(`${good}=`)}`,
    'a scheme that begins alike': `BasicAuth ${good}`,
    'a scheme that ends alike': `XBasic ${good}`,
    'a scheme with a dash': `Basic- ${good}`,
    'a scheme with a space': `Bas ic ${good}`,
    'a Cyrillic scheme': `${Buffer.from('Ваsiс').toString('latin1')} ${good}`,
    Bearer: `Bearer ${good}`,
    Digest: `Digest username="${id}", response="${secret}"`,
    Negotiate: `Negotiate ${good}`,
    Token: `Token ${secret}`,
    ApiKey: `ApiKey ${pair}`,
    '8,000 characters': `Basic ${good}${'A'.repeat(7500)}`,
  };
  return {
    ...Object.fromEntries(
      Object.entries(encoded).map(([what, content]) => [`base64 of ${what}`, `Basic ${base64(content)}`]),
    ),
    ...asIs,
  };
}

// Holds S3.2.
test('401 none of a hundred other forms of the header authenticates', async () => {
  const values = Object.entries(craftValues(shop.keys.apiID, shop.keys.apiSecret));
  assert.ok(values.length >= 100, `${values.length} forms`);
  const bytes = Buffer.concat(values.map(([, value]) => writeRequest('GET', target, [`Authorization: ${value}`])));
  const answers = await exchange(service.origin, bytes, values.length);
  assert.equal(answers.length, values.length);
  for (const [index, { status, body }] of answers.entries())
    assert.equal(`${status} ${body.code}`, '401 INVALID_CREDENTIALS', values[index]![0]);
});

test('400 a control character in the header is malformed HTTP and closes the connection', async () => {
  for (const character of ['\0', '\r', '\x01', '\x7f']) {
    const request = writeRequest('GET', target, [`Authorization: ${basicOf(shop.keys)}${character}`]);
    const answers = await exchange(service.origin, request, 2);
    const told = answers.map(({ status, body }) => `${status} ${body.code}`);
    assert.deepEqual(told, ['400 MALFORMED_REQUEST'], JSON.stringify(character));
  }
});

test('401 two Authorization headers are refused, even if they are equal or the parameters are valid', async () => {
  const good = basicOf(shop.keys);
  const wrong = basicOf({ ...shop.keys, apiSecret: 'x' });
  const others = [wrong, 'Bearer x', ''].flatMap((other) => [
    [good, other],
    [other, good],
  ]);
  const { apiID, apiSecret } = shop.keys;
  const withParameters = `${target}&${new URLSearchParams({ apiID, apiSecret }).toString()}`;
  for (const url of [target, withParameters])
    for (const [one, two] of [[good, good], ...others]) {
      const request = writeRequest('GET', url, [`Authorization: ${one}`, `AUTHORIZATION: ${two}`]);
      const { status, body } = await send(service.origin, request);
      assert.equal(`${status} ${body.code}`, '401 INVALID_CREDENTIALS', `${one} and ${two}`);
    }
  assert.equal((await send(service.origin, writeRequest('GET', withParameters))).status, 200);
});
