/**
 * The second factor over HTTP: putting it in force, codes good once and only around their time, recovery codes, guesses, taking it away, and that its
 * secret is nowhere in the store. The codes are reckoned by the visitor, not by the service's own code.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { auditOf, findInStore, openScene, runSql } from './scene.ts';
import { bytesOf, codeOf, PASSWORD, Visitor, type Reply } from './visitor.ts';

const NEW_PASSWORD = 'seven copper kites above';
const STEP_MS = 30_000;

const service = await openScene();
await service.makeTenant('shop');
const owner = await Visitor.make(service, 'shop', 'owner');

const expectCode = ({ status, body, text }: Reply, httpStatus: number, code: string): void =>
  assert.equal(`${status} ${body?.code}`, `${httpStatus} ${code}`, text);

/** Waits for the next time step when this one is nearly over, so that a code is not of another step when it arrives. */
async function settleStep(): Promise<void> {
  const left = STEP_MS - (Date.now() % STEP_MS);
  if (left < 6000) await sleep(left + 50);
}

interface Protected {
  readonly user: Visitor;
  readonly secret: string;
  readonly recoveryCodes: string[];
}

/** A user with a second factor, put in force by the code of the step before this one, so that this one's is good still. */
async function protect(name: string): Promise<Protected> {
  await settleStep();
  const user = await owner.add('developer', `${name}@shop.example`);
  const { secret } = (await user.post('/second-factor/begin')).body as { secret: string };
  const { status, body, text } = await user.post('/second-factor/enable', {
    password: PASSWORD,
    secret,
    code: codeOf(secret, -1),
  });
  assert.equal(status, 200, text);
  return { user, secret, recoveryCodes: body.recoveryCodes as string[] };
}

/** Failures of a test before this one are forgotten, and whoever waits waits no longer. */
const forgive = (): Promise<unknown> => runSql(service, `UPDATE @USERS SET "FAILURES" = 0, "NEXT_TRY_AT" = ''`);

test('it begins with a secret of 160 bits and its otpauth URI, and is in force only once a code came back with the password', async () => {
  await settleStep();
  const user = await owner.add('viewer', 'begin@shop.example');
  const { secret, uri } = (await user.post('/second-factor/begin')).body as { secret: string; uri: string };
  assert.match(secret, /^[A-Z2-7]{32}$/);
  assert.ok(
    uri.startsWith('otpauth://totp/Storeroom:') && uri.includes(`secret=${secret}`) && uri.includes('issuer=Storeroom'),
    uri,
  );
  assert.notEqual((await user.post('/second-factor/begin')).body.secret, secret);
  assert.equal((await user.elsewhere().signIn()).status, 200, 'begun is not in force');
  const enable = (body: object): Promise<Reply> =>
    user.post('/second-factor/enable', { password: PASSWORD, secret, code: codeOf(secret), ...body });
  expectCode(await enable({ password: NEW_PASSWORD }), 401, 'SIGN_IN_REFUSED');
  expectCode(await enable({ code: codeOf(secret, 20) }), 401, 'SIGN_IN_REFUSED');
  expectCode(await enable({ secret: secret.slice(1) }), 400, 'INVALID_VALUE');
  assert.equal((await user.get('/session')).body.user.hasSecondFactor, false);
  assert.equal((await enable({})).status, 200);
  assert.equal((await user.get('/session')).body.user.hasSecondFactor, true);
  expectCode(await user.elsewhere().signIn(), 401, 'SECOND_FACTOR_NEEDED');
});

test('a right password without a code asks for one, a wrong password with or without one is refused as ever', async () => {
  const { user, secret } = await protect('asks');
  expectCode(await user.elsewhere().signIn(PASSWORD), 401, 'SECOND_FACTOR_NEEDED');
  expectCode(await user.elsewhere().signIn(PASSWORD, ' '), 401, 'SECOND_FACTOR_NEEDED');
  expectCode(await user.elsewhere().signIn(NEW_PASSWORD), 401, 'SIGN_IN_REFUSED');
  expectCode(await user.elsewhere().signIn(NEW_PASSWORD, codeOf(secret)), 401, 'SIGN_IN_REFUSED');
  const visitor = user.elsewhere();
  assert.equal(
    (await visitor.signIn(PASSWORD, codeOf(secret))).status,
    200,
    'a code with a wrong password used the code up',
  );
  assert.equal(visitor.token !== undefined, true);
});

test('a code is good once, and none before it any more', async () => {
  const { user, secret } = await protect('once');
  expectCode(await user.elsewhere().signIn(PASSWORD, codeOf(secret, -1)), 401, 'SIGN_IN_REFUSED');
  const codes = Array.from({ length: 4 }, () => user.elsewhere().signIn(PASSWORD, codeOf(secret)));
  const statuses = (await Promise.all(codes)).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 200).length, 1, statuses.join());
  await forgive();
  expectCode(await user.elsewhere().signIn(PASSWORD, codeOf(secret)), 401, 'SIGN_IN_REFUSED');
  assert.equal((await user.elsewhere().signIn(PASSWORD, codeOf(secret, 1))).status, 200);
  expectCode(await user.elsewhere().signIn(PASSWORD, codeOf(secret)), 401, 'SIGN_IN_REFUSED');
});

test('codes one step around the present are taken, those two steps away are not', async () => {
  await settleStep();
  for (const [steps, status] of [
    [-2, 401],
    [-1, 200],
    [0, 200],
    [1, 200],
    [2, 401],
    [3, 401],
  ] as const) {
    // prettier-ignore
    const user = await owner.add('viewer', `step${steps}@shop.example`);
    const { secret } = (await user.post('/second-factor/begin')).body as { secret: string };
    assert.equal(
      (await user.post('/second-factor/enable', { password: PASSWORD, secret, code: codeOf(secret) })).status,
      200,
    );
    await runSql(service, `UPDATE @USERS SET "LAST_STEP" = 0 WHERE "EMAIL" = '${user.email}'`);
    assert.equal((await user.elsewhere().signIn(PASSWORD, codeOf(secret, steps))).status, status, `${steps}`);
  }
});

test('there are ten recovery codes of 24 base32 characters, each good once, however it is typed', async () => {
  const { user, recoveryCodes } = await protect('recovery');
  assert.equal(new Set(recoveryCodes).size, 10);
  for (const code of recoveryCodes) assert.match(code, /^([A-Z2-7]{6}-){3}[A-Z2-7]{6}$/);
  const [first = '', second = ''] = recoveryCodes;
  const visitor = user.elsewhere();
  assert.equal((await visitor.signIn(PASSWORD, first)).status, 200);
  assert.equal((await visitor.get('/session')).body.user.recoveryCodesLeft, 9);
  expectCode(await user.elsewhere().signIn(PASSWORD, first), 401, 'SIGN_IN_REFUSED');
  assert.equal((await user.elsewhere().signIn(PASSWORD, ` ${second.toLowerCase().replaceAll('-', ' ')}`)).status, 200);
  expectCode(await user.elsewhere().signIn(PASSWORD, second.replaceAll('-', '')), 401, 'SIGN_IN_REFUSED');
  const last = recoveryCodes.at(-1)!;
  const racing = await Promise.all(Array.from({ length: 3 }, () => user.elsewhere().signIn(PASSWORD, last)));
  assert.equal(racing.filter(({ status }) => status === 200).length, 1);
});

test('new recovery codes take the place of the old ones', async () => {
  const { user, recoveryCodes } = await protect('anew');
  const { secret } = (await user.post('/second-factor/begin')).body as { secret: string };
  const { body } = await user.post('/second-factor/enable', { password: PASSWORD, secret, code: codeOf(secret) });
  expectCode(await user.elsewhere().signIn(PASSWORD, recoveryCodes[0]), 401, 'SIGN_IN_REFUSED');
  assert.equal((await user.elsewhere().signIn(PASSWORD, (body.recoveryCodes as string[])[0])).status, 200);
});

test('five wrong codes are looked at, the sixth costs a wait, in which the right one is refused too', async () => {
  const { user, secret } = await protect('guessed');
  const wrong = String((Number(codeOf(secret, 7)) + 1) % 1_000_000).padStart(6, '0');
  for (let guess = 0; guess < 6; guess++)
    expectCode(await user.elsewhere().signIn(PASSWORD, wrong), 401, 'SIGN_IN_REFUSED');
  const waits = await user.elsewhere().signIn(PASSWORD, codeOf(secret));
  expectCode(waits, 429, 'TOO_MANY_ATTEMPTS');
  assert.equal(waits.headers.get('retry-after'), '1');
  for (let ask = 0; ask < 3; ask++) await user.elsewhere().signIn(PASSWORD);
  await sleep(1050);
  await settleStep();
  expectCode(await user.elsewhere().signIn(PASSWORD), 401, 'SECOND_FACTOR_NEEDED');
  expectCode(await user.elsewhere().signIn(PASSWORD, wrong), 401, 'SIGN_IN_REFUSED');
  expectCode(await user.elsewhere().signIn(PASSWORD, codeOf(secret, 1)), 429, 'TOO_MANY_ATTEMPTS');
});

test('it is taken away only by password and code together', async () => {
  const { user, secret } = await protect('disable');
  const disable = (password: string, code: string): Promise<Reply> =>
    user.post('/second-factor/disable', { password, code });
  expectCode(await disable(PASSWORD, ''), 401, 'SECOND_FACTOR_NEEDED');
  expectCode(await disable(PASSWORD, codeOf(secret, 9)), 401, 'SIGN_IN_REFUSED');
  expectCode(await disable(NEW_PASSWORD, codeOf(secret)), 401, 'SIGN_IN_REFUSED');
  expectCode(await user.elsewhere().signIn(), 401, 'SECOND_FACTOR_NEEDED');
  assert.equal((await disable(PASSWORD, codeOf(secret))).status, 200);
  assert.equal((await user.elsewhere().signIn()).status, 200);
  expectCode(await disable(PASSWORD, codeOf(secret, 1)), 404, 'NOT_FOUND');
});

test('a new link takes the factor away once it is used, and its recovery codes with it', async () => {
  const { user, recoveryCodes } = await protect('reset');
  const { link } = (await owner.post('/users/link', { email: user.email })).body as { link: string };
  expectCode(await user.elsewhere().signIn(), 401, 'SECOND_FACTOR_NEEDED');
  const later = user.elsewhere();
  later.password = NEW_PASSWORD;
  const { body } = await later.open(link.split('#')[1]!);
  assert.deepEqual([body.user.hasSecondFactor, body.user.recoveryCodesLeft], [false, 0]);
  const rows = await runSql(service, `SELECT 1 FROM @RECOVERY_CODES WHERE "EMAIL" = '${user.email}'`);
  assert.equal(rows.length, 0);
  assert.equal((await later.elsewhere().signIn()).status, 200);
  assert.equal((await later.elsewhere().signIn(PASSWORD, recoveryCodes[0])).status, 401);
});

test('a new password keeps the factor, its codes and its recovery codes working', async () => {
  const { user, secret, recoveryCodes } = await protect('renamed');
  assert.equal((await user.post('/password', { password: PASSWORD, newPassword: NEW_PASSWORD })).status, 200);
  expectCode(await user.elsewhere().signIn(NEW_PASSWORD), 401, 'SECOND_FACTOR_NEEDED');
  assert.equal((await user.elsewhere().signIn(NEW_PASSWORD, codeOf(secret))).status, 200);
  assert.equal((await user.elsewhere().signIn(NEW_PASSWORD, recoveryCodes[3])).status, 200);
});

test('the secret and the recovery codes are nowhere in the store, the audit log or the output of the process', async () => {
  const { user, secret, recoveryCodes } = await protect('sealed');
  await user.elsewhere().signIn(PASSWORD, codeOf(secret));
  const [code = ''] = recoveryCodes;
  const bytes = bytesOf(secret);
  const needles = {
    secret,
    'secret in lower case': secret.toLowerCase(),
    'secret bytes': bytes,
    'secret in hex': bytes.toString('hex'),
    'secret in base64': bytes.toString('base64'),
    'recovery code': code,
    'recovery code without dashes': code.replaceAll('-', ''),
    'recovery code bytes': bytesOf(code.replaceAll('-', '')),
    email: user.email,
  };
  assert.deepEqual(await findInStore(service, needles), ['email']);
  assert.ok(!service.output.includes(secret) && !JSON.stringify(await auditOf(owner)).includes(secret));
});
