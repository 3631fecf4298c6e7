/** Tests that no log and no response contains an encoded secret or password, wherever it was sent. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Visitor } from '../dashboard/visitor.ts';
import { basicOf } from '../kit/operations.ts';
import { ownService, STORE } from '../kit/service.ts';

const PASSWORD = 'wet paper lantern orbit';
const service = await ownService({ env: { STOREROOM_LOG_LEVEL: 'debug' } });
const keys = await service.makeTenant('shop');
const owner = await Visitor.make(service, 'shop', 'owner');
const { apiID, apiSecret } = keys;
const pair = Buffer.from(`${apiID}:${apiSecret}`);

/** The secret in different encodings, by a name. */
const VALUES: Record<string, string> = {
  plain: apiSecret,
  'a header': basicOf(keys),
  base64: pair.toString('base64'),
  base64url: pair.toString('base64url'),
  'base64 in lines': pair.toString('base64').replace(/.{60}/g, '$&\n'),
  hex: pair.toString('hex'),
  'encoded once': apiSecret.replaceAll('_', '%5F'),
  'encoded twice': apiSecret.replaceAll('_', '%255F'),
  'every character encoded': Array.from(apiSecret, (one) => `%${one.charCodeAt(0).toString(16)}`).join(''),
  'escaped as JSON': apiSecret.replaceAll('_', '\\u005f'),
  'JSON in base64': Buffer.from(JSON.stringify({ ...keys })).toString('base64'),
  'an address': `https://${apiID}:${apiSecret}@pims.example.com/`,
};

/** Returns the end of a value, by which a leak is found. The log never cuts the end off. */
const tailOf = (value: string): string => value.replaceAll(/[\s=/]/g, '').slice(-24);

async function assertHidden(where: string, text: string, value: string): Promise<void> {
  assert.ok(!text.replaceAll(/\\n|[\s=/]/g, '').includes(tailOf(value)), `${where} shows ${text}`);
}

test('a secret is hidden in every encoding, in parameters, names, bodies, responses and the log', async () => {
  for (const [name, value] of Object.entries(VALUES)) {
    const answers = [
      await service.call(keys, 'GET', '/orders/single', { query: { orderNum: '1', note: value } }),
      await service.call(keys, 'GET', '/orders/single', { query: { orderNum: '1', [value]: 'note' } }),
      await service.call(keys, 'GET', '/orders/single', { query: { orderNum: value } }),
      await service.call(keys, 'PUT', '/orders/create', { body: { NOTE: value, [value]: value } }),
      await service.call(keys, 'GET', '/orders/all', { body: undefined, query: { maxReturn: value, cursor: value } }),
    ];
    for (const [place, { headers, text }] of answers.entries()) {
      await assertHidden(`${name}, answer ${place}`, text, value);
      const requestID = headers.get('x-request-id')!;
      const logged = await owner.get('/requests/single', { requestID });
      if (place < 4) assert.equal(logged.status, 200, logged.text);
      await assertHidden(`${name}, place ${place}`, logged.text, value);
    }
    await assertHidden(`${name}, the service's log`, service.output, value);
  }
});

test('a value under the name of a secret is hidden, also in a body', async () => {
  const named = {
    authorization: `Basic ${PASSWORD}`,
    password: PASSWORD,
    Api_Secret: PASSWORD,
    'p%61ssword': PASSWORD,
  };
  for (const [name, value] of Object.entries(named))
    for (const answer of [
      await service.call(keys, 'GET', '/orders/single', { query: { orderNum: '1', [name]: value } }),
      await service.call(keys, 'PUT', '/orders/create', { body: { NOTES: 'shown', [name]: value } }),
    ]) {
      const logged = await owner.get('/requests/single', { requestID: answer.headers.get('x-request-id')! });
      assert.equal(logged.status, 200);
      assert.ok(!(answer.text + logged.text).includes(PASSWORD), `${name}: ${logged.text}`);
      assert.match(logged.text, /orderNum|shown/, 'the rest is there');
    }
});

test('no part of a secret is in the files of the log', async () => {
  await service.stop();
  if (STORE !== 'sqlite') return;
  for (const file of globSync('requests.db*', { cwd: service.dataFolder })) {
    const bytes = readFileSync(join(service.dataFolder, file));
    for (const value of [...Object.values(VALUES), PASSWORD]) assert.ok(!bytes.includes(tailOf(value)), file);
  }
});
