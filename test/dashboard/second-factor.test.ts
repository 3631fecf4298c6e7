/**
 * Tests the second factor over HTTP: enabling, replacing and disabling it, and that its secret is nowhere in the store.
 * Its rules are tested in test/account. `codeOf` in visitor.ts makes the codes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditOf, findInStore, openStandingScene } from './scene.ts';
import {
  bytesOf,
  codeOf,
  expectCode,
  expectOk,
  NEW_PASSWORD,
  PASSWORD,
  STEP_MS,
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

test('setup begins with a secret of 160 bits and its URI; a code with the password completes it', async () => {
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
  const { hasSecondFactor, recoveryCodesLeft } = (await user.ask('GET /session')).user;
  assert.deepEqual([hasSecondFactor, recoveryCodesLeft], [true, 10]);
  await expectCode(user.elsewhere().signIn(), '401 SECOND_FACTOR_NEEDED');
});

test('401 replacing it, and every proof that could remove it, needs one of its codes', async () => {
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

test('it is removed only by password and code together', async () => {
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

test('secret and recovery codes are nowhere in the store, the audit log or the output of the process', async () => {
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
