/**
 * Tests the second factor over HTTP: enabling and disabling it, codes that work once and only near their time, recovery
 * codes, guesses, and that its secret is nowhere in the store. `codeOf` in visitor.ts makes the codes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditOf, findInStore, openStandingScene, runSql } from './scene.ts';
import {
  bytesOf,
  codeOf,
  expectCode,
  expectOk,
  NEW_PASSWORD,
  PASSWORD,
  STEP_MS,
  tokenOf,
  Visitor,
  type Reply,
} from './visitor.ts';

const service = await openStandingScene();
// The time stands still at the beginning of a step, so a code stays current until the test moves the clock.
await service.move(STEP_MS - (service.now() % STEP_MS));
await service.makeTenant('shop');
const owner = await Visitor.make(service, 'shop', 'owner');

interface Protected {
  readonly user: Visitor;
  readonly secret: string;
  readonly recoveryCodes: string[];
}

const begin = (user: Visitor) => user.ask('POST /second-factor/begin');
const enable = (user: Visitor, secret: string, steps = 0) =>
  user.ask('POST /second-factor/enable', { password: PASSWORD, secret, code: codeOf(secret, service, steps) });

/** Adds a user with a second factor, enabled by the code of the previous step, so that the current code is unused. */
async function protect(name: string): Promise<Protected> {
  const user = await owner.add('developer', `${name}@shop.example`);
  const { secret } = await begin(user);
  return { user, secret, ...(await enable(user, secret, -1)) };
}

/** Resets the failed attempts of all users, so that no one has to wait. */
const forgive = (): Promise<unknown> => runSql(service, `UPDATE @USERS SET "FAILURES" = 0, "NEXT_TRY_AT" = ''`);

test('it begins with a secret of 160 bits and its URI; a code sent with the password puts it in force', async () => {
  const user = await owner.add('viewer', 'begin@shop.example');
  const { secret, uri } = await begin(user);
  assert.match(secret, /^[A-Z2-7]{32}$/);
  for (const part of [/^otpauth:\/\/totp\/Storeroom:/, /issuer=Storeroom/, new RegExp(`secret=${secret}`)])
    assert.match(uri, part);
  assert.notEqual((await begin(user)).secret, secret);
  await user.again(); // without a code: the second factor is not enabled yet
  const tryTo = (body: object): Promise<Reply> =>
    user.post('/second-factor/enable', { password: PASSWORD, secret, code: codeOf(secret, service), ...body });
  await expectCode(tryTo({ password: NEW_PASSWORD }), '401 SIGN_IN_REFUSED');
  await expectCode(tryTo({ code: codeOf(secret, service, 20) }), '401 SIGN_IN_REFUSED');
  await expectCode(tryTo({ secret: secret.slice(1) }), '400 INVALID_VALUE');
  assert.equal((await user.ask('GET /session')).user.hasSecondFactor, false);
  await expectOk(tryTo({}));
  assert.equal((await user.ask('GET /session')).user.hasSecondFactor, true);
  await expectCode(user.elsewhere().signIn(), '401 SECOND_FACTOR_NEEDED');
});

test('a right password without a code asks for one; a wrong password is refused with or without one', async () => {
  const { user, secret } = await protect('asks');
  await expectCode(user.elsewhere().signIn(PASSWORD), '401 SECOND_FACTOR_NEEDED');
  await expectCode(user.elsewhere().signIn(PASSWORD, ' '), '401 SECOND_FACTOR_NEEDED');
  await expectCode(user.elsewhere().signIn(NEW_PASSWORD), '401 SIGN_IN_REFUSED');
  await expectCode(user.elsewhere().signIn(NEW_PASSWORD, codeOf(secret, service)), '401 SIGN_IN_REFUSED');
  const visitor = user.elsewhere();
  await expectOk(visitor.signIn(PASSWORD, codeOf(secret, service))); // the wrong password did not use up the code
  assert.notEqual(visitor.token, undefined);
});

test('a code is good once, and none before it any more', async () => {
  const { user, secret } = await protect('once');
  await expectCode(user.elsewhere().signIn(PASSWORD, codeOf(secret, service, -1)), '401 SIGN_IN_REFUSED');
  const codes = Array.from({ length: 4 }, () => user.elsewhere().signIn(PASSWORD, codeOf(secret, service)));
  const statuses = (await Promise.all(codes)).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 200).length, 1, statuses.join());
  await forgive();
  await expectCode(user.elsewhere().signIn(PASSWORD, codeOf(secret, service)), '401 SIGN_IN_REFUSED');
  await expectOk(user.elsewhere().signIn(PASSWORD, codeOf(secret, service, 1)));
  await expectCode(user.elsewhere().signIn(PASSWORD, codeOf(secret, service)), '401 SIGN_IN_REFUSED');
});

test('codes one step around the present are taken, those two steps away are not', async () => {
  for (const steps of [-2, -1, 0, 1, 2, 3]) {
    const user = await owner.add('viewer', `step${steps}@shop.example`);
    const { secret } = await begin(user);
    await enable(user, secret);
    await runSql(service, `UPDATE @USERS SET "LAST_STEP" = 0 WHERE "EMAIL" = '${user.email}'`);
    const { status } = await user.elsewhere().signIn(PASSWORD, codeOf(secret, service, steps));
    assert.equal(status, Math.abs(steps) <= 1 ? 200 : 401, `${steps}`);
  }
});

test('there are ten recovery codes of 24 base32 characters, each good once, however it is typed', async () => {
  const { user, recoveryCodes } = await protect('recovery');
  assert.equal(new Set(recoveryCodes).size, 10);
  for (const code of recoveryCodes) assert.match(code, /^([A-Z2-7]{6}-){3}[A-Z2-7]{6}$/);
  const [first = '', second = ''] = recoveryCodes;
  const visitor = user.elsewhere();
  await expectOk(visitor.signIn(PASSWORD, first));
  assert.equal((await visitor.ask('GET /session')).user.recoveryCodesLeft, 9);
  await expectCode(user.elsewhere().signIn(PASSWORD, first), '401 SIGN_IN_REFUSED');
  await expectOk(user.elsewhere().signIn(PASSWORD, ` ${second.toLowerCase().replaceAll('-', ' ')}`));
  await expectCode(user.elsewhere().signIn(PASSWORD, second.replaceAll('-', '')), '401 SIGN_IN_REFUSED');
  const last = recoveryCodes.at(-1)!;
  const racing = await Promise.all(Array.from({ length: 3 }, () => user.elsewhere().signIn(PASSWORD, last)));
  assert.equal(racing.filter(({ status }) => status === 200).length, 1);
});

test('new recovery codes take the place of the old ones', async () => {
  const { user, recoveryCodes } = await protect('anew');
  const { secret } = await begin(user);
  const body = { password: PASSWORD, secret, code: codeOf(secret, service), presentCode: recoveryCodes[1]! };
  const anew = await user.ask('POST /second-factor/enable', body);
  await expectCode(user.elsewhere().signIn(PASSWORD, recoveryCodes[0]), '401 SIGN_IN_REFUSED');
  await expectOk(user.elsewhere().signIn(PASSWORD, anew.recoveryCodes[0]));
});

test('401 it is replaced only with a code of its own, and so is every proof that could remove it', async () => {
  const { user, secret, recoveryCodes } = await protect('replaced');
  const admin = await owner.add('owner', 'replaced-too@shop.example');
  const ofAdmin = await begin(admin);
  await enable(admin, ofAdmin.secret, -1);
  const [own, first = ''] = [await begin(user), ...recoveryCodes];
  const replace = (presentCode?: string): Promise<Reply> => {
    const proof = { password: PASSWORD, secret: own.secret, code: codeOf(own.secret, service) };
    return user.post('/second-factor/enable', { ...proof, ...(presentCode !== undefined && { presentCode }) });
  };
  for (const nothing of [undefined, '', ' ']) await expectCode(replace(nothing), '401 SECOND_FACTOR_NEEDED');
  for (const wrong of [codeOf(secret, service, 9), codeOf(own.secret, service, 1), 'AAAAAA-AAAAAA-AAAAAA-AAAAAA'])
    await expectCode(replace(wrong), '401 SIGN_IN_REFUSED');
  await expectCode(user.elsewhere().signIn(PASSWORD, codeOf(own.secret, service)), '401 SIGN_IN_REFUSED');
  // A link turns two-step verification off, so the proof for issuing one needs the code as well.
  await expectCode(admin.post('/confirm', { password: PASSWORD }), '401 SECOND_FACTOR_NEEDED');
  await expectCode(admin.post('/confirm', { password: PASSWORD, code: '000000' }), '401 SIGN_IN_REFUSED');
  await expectOk(admin.post('/confirm', { password: PASSWORD, code: codeOf(ofAdmin.secret, service) }));
  await expectOk(replace(first));
  const { recoveryCodes: left } = await user.ask('POST /second-factor/enable', {
    password: PASSWORD,
    secret,
    code: codeOf(secret, service),
    presentCode: codeOf(own.secret, service, 1),
  });
  await expectCode(user.elsewhere().signIn(PASSWORD, first), '401 SIGN_IN_REFUSED');
  await expectOk(user.elsewhere().signIn(PASSWORD, left[0]));
});

test('five wrong codes are looked at, the sixth costs a wait, in which the right one is refused too', async () => {
  const { user, secret } = await protect('guessed');
  const wrong = String((Number(codeOf(secret, service, 7)) + 1) % 1_000_000).padStart(6, '0');
  for (let guess = 0; guess < 6; guess++)
    await expectCode(user.elsewhere().signIn(PASSWORD, wrong), '401 SIGN_IN_REFUSED');
  const waits = await expectCode(user.elsewhere().signIn(PASSWORD, codeOf(secret, service)), '429 TOO_MANY_ATTEMPTS');
  assert.equal(waits.headers.get('retry-after'), '1');
  for (let ask = 0; ask < 3; ask++) await user.elsewhere().signIn(PASSWORD);
  await service.move(1000);
  await expectCode(user.elsewhere().signIn(PASSWORD), '401 SECOND_FACTOR_NEEDED');
  await expectCode(user.elsewhere().signIn(PASSWORD, wrong), '401 SIGN_IN_REFUSED');
  await expectCode(user.elsewhere().signIn(PASSWORD, codeOf(secret, service, 1)), '429 TOO_MANY_ATTEMPTS');
});

test('it is taken away only by password and code together', async () => {
  const { user, secret } = await protect('disable');
  const disable = (password: string, code: string): Promise<Reply> =>
    user.post('/second-factor/disable', { password, code });
  await expectCode(disable(PASSWORD, ''), '401 SECOND_FACTOR_NEEDED');
  await expectCode(disable(PASSWORD, codeOf(secret, service, 9)), '401 SIGN_IN_REFUSED');
  await expectCode(disable(NEW_PASSWORD, codeOf(secret, service)), '401 SIGN_IN_REFUSED');
  await expectCode(user.elsewhere().signIn(), '401 SECOND_FACTOR_NEEDED');
  await expectOk(disable(PASSWORD, codeOf(secret, service)));
  await expectOk(user.elsewhere().signIn());
  await expectCode(disable(PASSWORD, codeOf(secret, service, 1)), '404 NOT_FOUND');
});

test('a new link takes the factor away once it is used, and its recovery codes with it', async () => {
  const { user, recoveryCodes } = await protect('reset');
  const token = tokenOf(await owner.ask('POST /users/link', { email: user.email }));
  await expectCode(user.elsewhere().signIn(), '401 SECOND_FACTOR_NEEDED');
  const later = user.elsewhere();
  later.password = NEW_PASSWORD;
  const { body } = await later.open(token);
  assert.deepEqual([body.user.hasSecondFactor, body.user.recoveryCodesLeft], [false, 0]);
  const rows = await runSql(service, `SELECT 1 FROM @RECOVERY_CODES WHERE "EMAIL" = '${user.email}'`);
  assert.equal(rows.length, 0);
  await expectOk(later.elsewhere().signIn());
  await expectCode(later.elsewhere().signIn(PASSWORD, recoveryCodes[0]), '401 SIGN_IN_REFUSED');
});

test('a new password keeps the factor, its codes and its recovery codes working', async () => {
  const { user, secret, recoveryCodes } = await protect('renamed');
  await expectOk(user.post('/password', { password: PASSWORD, newPassword: NEW_PASSWORD }));
  await expectCode(user.elsewhere().signIn(NEW_PASSWORD), '401 SECOND_FACTOR_NEEDED');
  await expectOk(user.elsewhere().signIn(NEW_PASSWORD, codeOf(secret, service)));
  await expectOk(user.elsewhere().signIn(NEW_PASSWORD, recoveryCodes[3]));
});

test('secret and recovery codes are nowhere in the store, the audit log or what the process prints', async () => {
  const { user, secret, recoveryCodes } = await protect('sealed');
  await user.elsewhere().signIn(PASSWORD, codeOf(secret, service));
  const [code = ''] = recoveryCodes;
  const bytes = bytesOf(secret);
  const needles = {
    secret,
    'secret in lowercase': secret.toLowerCase(),
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
