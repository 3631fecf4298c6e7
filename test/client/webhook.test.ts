/** Tests that verifyWebhook of the TypeScript client only accepts messages that are signed and recent. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { TestClock } from '../kit/clock.ts';
import { loadClient } from './host.ts';

// The values are from the examples of the Standard Webhooks specification and of its reference libraries.
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const EXAMPLE = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': '1614265330',
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};
const EXAMPLE_BODY = '{"test": 2432232314}';
const OTHER = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';

const clock = new TestClock();
const { verifyWebhook, WebhookError } = loadClient(clock);
const now = (): number => Math.floor(clock.now() / 1000);
const BODY = JSON.stringify({
  type: 'orders.updated',
  timestamp: '2026-03-18T12:00:00Z',
  data: { seq: '7', type: 'orders', key: 'ä€😀', change: 'updated' },
});

const sign = (secret: string, at = now(), body = BODY): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(`msg_1.${at}.${body}`)
    .digest('base64')}`;
const headersOf = (signature: string, at = now()): Record<string, string> => ({
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(at),
  'webhook-signature': signature,
});
const isRefused = (running: Promise<unknown>, why: RegExp): Promise<void> =>
  assert.rejects(running, (error) => error instanceof WebhookError && why.test(error.message));

test('the example of the Standard Webhooks specification verifies, when its time is near', async () => {
  assert.deepEqual(
    { ...(await verifyWebhook(SECRET, EXAMPLE, EXAMPLE_BODY, { toleranceSeconds: Infinity })) },
    { test: 2432232314 },
  );
  await isRefused(verifyWebhook(SECRET, EXAMPLE, EXAMPLE_BODY), /^webhook-timestamp is 1614265330, more than 300 /);
});

test('a signed webhook gives its event, from headers and a body in every form that hosts use', async () => {
  const headers = headersOf(sign(SECRET));
  const wanted = JSON.parse(BODY) as object;
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
  for (const form of [headers, upper, lists, new Headers(headers)])
    for (const body of [BODY, Buffer.from(BODY), new TextEncoder().encode(BODY)]) {
      const event = await verifyWebhook(SECRET, form, body);
      assert.equal(JSON.stringify(event), JSON.stringify(wanted));
    }
});

test('while a secret is being replaced, either signature and either secret is accepted', async () => {
  const both = headersOf(`${sign(OTHER)} ${sign(SECRET)}`);
  for (const secret of [SECRET, OTHER, [SECRET, OTHER]]) await verifyWebhook(secret, both, BODY);
  await verifyWebhook([OTHER, SECRET], headersOf(sign(SECRET)), BODY);
  await verifyWebhook(SECRET, headersOf(`v1a,${'A'.repeat(86)} v2,x ${sign(SECRET)}`), BODY);
});

test('another secret, body, time, ID or version, and every single changed character, is refused', async () => {
  const good = sign(SECRET);
  const why = /^No signature of the webhook matches/;
  const refuse = (headers: Record<string, string>, body: string | Uint8Array = BODY): Promise<void> =>
    isRefused(verifyWebhook(SECRET, headers, body), why);
  await refuse(headersOf(sign(OTHER)));
  await refuse(headersOf(good), `${BODY} `);
  await refuse(headersOf(good), BODY.replace('7', '8'));
  await refuse(headersOf(good, now() - 1));
  await refuse({ ...headersOf(good), 'webhook-id': 'msg_2' });
  for (const signature of ['', 'v1,', 'v1', good.slice(3), good.slice(0, -1), `${good}=`, good.replace('v1', 'v2')])
    await refuse(headersOf(signature));
  for (let at = 0; at < good.length; at++) {
    const other = good[at] === 'B' ? 'C' : 'B';
    await refuse(headersOf(good.slice(0, at) + other + good.slice(at + 1)));
  }
  await isRefused(verifyWebhook([], headersOf(good), BODY), why);
});

test('a time within the tolerance, past or future, is accepted, and no text that is not a number', async () => {
  for (const drift of [-300, 300]) {
    const at = now() + drift;
    await verifyWebhook(SECRET, headersOf(sign(SECRET, at), at), BODY);
    const far = at + Math.sign(drift);
    await isRefused(verifyWebhook(SECRET, headersOf(sign(SECRET, far), far), BODY), /more than 300 seconds/);
    await verifyWebhook(SECRET, headersOf(sign(SECRET, far), far), BODY, { toleranceSeconds: 301 });
  }
  for (const wrong of ['x', '-1', '1e9', '']) {
    const headers = { ...headersOf(sign(SECRET, wrong as never)), 'webhook-timestamp': wrong };
    await isRefused(verifyWebhook(SECRET, headers, BODY, { toleranceSeconds: Infinity }), /^webhook-timestamp is /);
  }
});

test('the error names a missing header; an impossible secret or body is a program error, and is not shown', async () => {
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
    const { [name]: _, ...others } = headersOf(sign(SECRET));
    await isRefused(verifyWebhook(SECRET, others, BODY), new RegExp(`^The header ${name} is missing`));
  }
  const headers = headersOf(sign(SECRET));
  for (const secret of ['', SECRET.slice(6), 'whsec_short', `${SECRET}!`, undefined as never])
    await assert.rejects(verifyWebhook(secret, headers, BODY), (error: Error) => {
      assert.equal(error.name, 'TypeError');
      assert.ok(!error.message.includes(SECRET.slice(6)), error.message);
      return true;
    });
  await assert.rejects(verifyWebhook(SECRET, headers, JSON.parse(BODY) as never), { message: /needs the raw body/ });
});
