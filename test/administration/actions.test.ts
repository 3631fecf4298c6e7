/**
 * Walks the list of actions of administration: what each one declares is true at both of its doors, the route of the
 * dashboard and the command. roles.test.ts, admission.test.ts and repetition.test.ts walk the routes for the rest.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Action, ActionContext } from '../../src/administration/action.ts';
import { ACTIONS } from '../../src/administration/actions.ts';
import { COMMAND_LINE, type AuditEntry } from '../../src/audit/audit.ts';
import { openCommandLine } from '../kit/cli-process.ts';
import { TestClock } from '../kit/clock.ts';
import { rowsOf, sendRow } from '../dashboard/routes.ts';
import { auditOf, forgetProof, openScene } from '../dashboard/scene.ts';
import { makeMarkedTenant } from '../dashboard/tenants.ts';
import { pick } from '../kit/lists.ts';
import { STORE, temporaryFolder } from '../kit/service.ts';
import { Receiver } from '../webhooks/receiver.ts';
import { codeIn, ROLES, type Reply, type Role } from '../dashboard/visitor.ts';

const isEmbedded = STORE === 'sqlite';
const service = await openScene({
  STOREROOM_WEBHOOK_PRIVATE: 'on',
  STOREROOM_OPERATOR_TEAM: 'listed',
  ...(isEmbedded && { STOREROOM_BACKUP_DIR: temporaryFolder() }),
});
const { named, users } = await makeMarkedTenant(service, 'listed');
const { owner } = users;

/** The keywords of a value's schema that actions use. */
interface Rules {
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly enum?: readonly string[];
  readonly items?: Rules;
}

const entries = Object.entries<Action>(ACTIONS);
const isRoute = (name: string): boolean => /^(GET|POST) \//.test(name);
const routes = entries.filter(([name]) => isRoute(name));
const changes = routes.filter(([name]) => name.startsWith('POST '));
const commands = entries.filter(([, { command }]) => command !== undefined);
/** Returns the words of a command, such as `keys end`, with the option that chooses the action. */
const wordsOf = ({ command = '' }: Action): string => command.replaceAll(/ ?[<[]\w+[>\]]/g, '');
/** Returns the words before the options of a command. */
const groupOf = (action: Action): string => wordsOf(action).replace(/ --.*/, '');
/** Returns the words of a command for the team `listed`, with these values after the team. */
const lineOf = (action: Action, typed: readonly string[]): string[] => [
  ...groupOf(action).split(' '),
  ...(action.command!.includes('<team>') ? ['listed'] : []),
  ...(/--\w+/.exec(action.command!) ?? []),
  ...typed,
];
/** Returns the places of a command after the team, such as `email`. */
const placesOf = ({ command = '' }: Action): string[] =>
  Array.from(command.matchAll(/[<[](?!team>)(\w+)[>\]]/g), ([, word]) => word!);

function send(name: string, visitor = owner): Promise<Reply> {
  const row = rowsOf(named, visitor).find(({ method, path }) => `${method} ${path}` === name)!;
  return sendRow(visitor, row);
}

/** The words after the team that let each command succeed; null if another test has what the command needs. */
const ENDINGS: Record<string, ((unique: string) => string[]) | null> = {
  'tenant create': null, // cli-tenant.test.ts: it has no team yet
  'tenant list': () => [],
  'tenant set': () => ['--strict', 'off'],
  'tenant restore': null, // lost-files.test.ts: it needs a backup
  'tenant place': null, // test/citus: it needs several servers
  'tenant move': null,
  'tenant remove': null, // cli-tenant.test.ts: it removes the audit log too
  'database list': null,
  'keys create': (unique) => ['--name', unique],
  'keys list': () => [],
  'keys replace': () => ['--overlap', '1h'],
  'keys end': () => [named.oldApiID],
  'webhook add': (unique) => [`https://receiver.invalid/${unique}`],
  'webhook list': () => [],
  'webhook test': () => [named.webhook],
  'webhook replay': () => [named.webhook],
  'webhook rotate': () => [named.webhook],
  'webhook rotate-key': () => [],
  'webhook pause': () => [named.webhook],
  'webhook remove': () => [named.webhook],
  'user create': (unique) => [`${unique}@listed.example`.toLowerCase(), '--role', 'viewer'],
  'user link': () => [named.email],
  'user list': () => [],
  'user role': () => [named.email, '--role', 'clerk'],
  'user sign-out': () => [named.email],
  'user remove': () => [named.email],
  'fields list': () => [],
  'fields add': (unique) => ['orders', unique.toUpperCase(), '--type', 'text'],
  'order approve': () => [named.quote],
  'order invoice': () => [named.salesOrder],
  'order void': () => [named.invoice],
  'order return': () => [named.returned, '--line', '1=1'],
  'order show': () => [named.returned],
  'stock receive': () => [named.part, '1'],
  'stock count': () => [named.part, '7'],
  'stock adjust': () => [named.part, '-1', '--reason', 'broken'],
  'stock history': () => [named.part],
  usage: () => [],
  requests: () => [],
  'requests --id': () => [named.requestID],
  'audit list': () => [],
  'audit verify': () => [],
};

suite('each action', () => {
  test('has a route or a command, and declares role, proof and entry of the audit log', () => {
    for (const [name, { role, proof, notes, command }] of entries) {
      assert.ok(isRoute(name) || command !== undefined, name);
      assert.equal(role !== undefined, isRoute(name), `${name}: who may use it`);
      assert.equal(proof !== undefined, name.startsWith('POST '), `${name}: which proof`);
      if (name.startsWith('POST ')) assert.ok(notes !== undefined, `${name}: what the audit log notes`);
      if (name.startsWith('GET ')) assert.equal(notes, undefined, name);
    }
    assert.deepEqual(commands.map(([, action]) => wordsOf(action)).toSorted(), Object.keys(ENDINGS).toSorted());
  });

  test('has help with its sentence, an example and an option for each argument', async () => {
    const { run } = openCommandLine();
    for (const [name, action] of commands) {
      const { exitCode, out } = await run(`${groupOf(action)} --help`);
      const text = out.replace(/\s+/g, ' ');
      assert.ok(exitCode === 0 && text.includes(action.about), name);
      assert.ok(text.includes(`Example: $ storeroom ${groupOf(action)}`), name);
      const properties = (action.takes?.['properties'] ?? {}) as Record<string, { title?: string }>;
      // A command that returns everything has no options for a page.
      for (const [member, { title = member }] of action.runWhole ? [] : Object.entries(properties)) {
        const flag = title.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
        assert.ok(placesOf(action).includes(member) || text.includes(` --${flag} `), `${name}: ${member}`);
      }
    }
  });
});

/** Lists without --json. */
const TABLES: Record<string, RegExp> = {
  'tenant list':
    /^TEAM +NAME +MADE +DEFAULT STAGE +STRICT +QUOTA +RATE\n.*^listed +\S+ +\d{4}-\d\d-\d\d +quote +off +none +none$/ms,
  'keys list listed': /^API ID +NAME +SCOPE +CREATED +ENDS +LAST USED\nsr_id_\w+ +default +write +\S+Z +never +\S+Z?\n/,
  'keys list bare': /^bare has no keys\.\n$/,
  'webhook list listed':
    /^ID +URL +TYPES +STATE +POSITION +LAG +FAILURES +LAST ATTEMPTS +NEXT TRY +REASON\nwh_\w+ +https/,
  'webhook list bare': /^bare has no webhooks\.\n$/,
  'user list listed':
    /^EMAIL +ROLE +MADE +PASSWORD +TWO-STEP VERIFICATION\n.*^besides@\S+ +viewer +\d{4}-\d\d-\d\d +not yet +off$/ms,
  'user list bare': /^EMAIL +ROLE +MADE +PASSWORD +TWO-STEP VERIFICATION\n$/,
  'requests listed': /^AT +STATUS +CODE +OPERATION +MS +CALLER +CLIENT +REQUEST ID\n/,
  'audit list listed': /^NUMBER +AT +ACTOR +ACTION +TARGET +CLIENT\n1 +\S+Z +command line +tenant created +listed/,
};

test('each list has columns, days and words for people, or a sentence where it is empty', async () => {
  assert.equal((await service.command('tenant', 'create', 'bare')).code, 0);
  for (const [words, table] of Object.entries(TABLES))
    assert.match((await service.command(...words.split(' '))).stdout, table, words);
});

/** Routes that remove what they name. */
const REMOVALS = ['POST /webhooks/remove', 'POST /users/remove', 'POST /keys/end'];

suite('each route', () => {
  test('403 the next lower role is refused', async () => {
    for (const [name, { role }] of routes) {
      const lower = ROLES[ROLES.indexOf(role as Role) + 1];
      if (lower !== undefined) assert.equal(codeIn(await send(name, users[lower])), '403 ROLE_NOT_ALLOWED', name);
    }
  });

  test('403 a change is refused without the proof that it declares, and is in the audit log with it', async () => {
    for (const [name, { proof, notes }] of changes) {
      const visitor = await owner.again();
      await forgetProof(service, visitor.email);
      if (proof === 'recent') {
        assert.equal(codeIn(await send(name, visitor)), '403 PROOF_NEEDED', name);
        await visitor.ask('POST /confirm', { password: visitor.password });
      }
      // The table removes what other rows need, so the next test removes what it has added.
      if (REMOVALS.includes(name)) continue;
      // The service does not back up PostgreSQL.
      if (name === 'POST /operate/backup' && !isEmbedded) continue;
      const before = (await auditOf(owner)).length;
      assert.equal(codeIn(await send(name, visitor)), '200', name);
      const { action, actor } = (await auditOf(owner)).slice(before).find((record) => record.action === notes)!;
      assert.deepEqual([action, actor], [notes, visitor.email], name);
    }
  });
});

test('a webhook, a user and a key that are removed in the dashboard are in the audit log, each once', async () => {
  const visitor = await owner.again();
  const email = 'leaves@listed.example';
  const { id } = await visitor.ask('POST /webhooks', { url: 'https://receiver.invalid/leaves', types: [] });
  await visitor.ask('POST /users', { email, role: 'viewer' });
  const { apiID } = await visitor.ask('POST /keys', { name: 'leaves', scope: 'read' });
  for (const [name, target, sent] of [
    ['POST /webhooks/remove', id, { id }],
    ['POST /users/remove', email, { email }],
    ['POST /keys/end', apiID, { apiID }],
  ] as const) {
    const before = (await auditOf(owner)).length;
    await visitor.ask(name, sent);
    assert.equal(codeIn(await visitor.post(name.slice('POST '.length), sent)), '404 NOT_FOUND', `${name} again`);
    const added = (await auditOf(owner)).slice(before);
    assert.deepEqual(pick(added, 'action', 'target', 'actor'), [
      { action: ACTIONS[name].notes, target, actor: visitor.email },
    ]);
  }
});

test('a command fails with a sentence if no valid key has the API ID, and writes no audit entry', async () => {
  const before = (await auditOf(owner)).length;
  const { code, stdout, stderr } = await service.command('keys', 'end', 'listed', 'sr_id_none');
  assert.equal(`${code} ${stdout}`, '1 ');
  assert.match(stderr, /storeroom: There is no valid key with this API ID\. List the keys to see all pairs\.\n$/);
  assert.equal((await auditOf(owner)).length, before);
});

test('`webhook test` fails if the receiver refuses the message, and says with which status', async () => {
  const receiver = await Receiver.start();
  const visitor = await owner.again();
  const { id, secret } = await visitor.ask('POST /webhooks', { url: receiver.url, types: [] });
  receiver.secrets = [secret];
  for (const [status, expected] of [
    [500, 1],
    [200, 0],
  ] as const) {
    receiver.behave = () => status;
    const { code, stdout } = await service.command('webhook', 'test', 'listed', id);
    assert.equal(code, expected, stdout);
    assert.match(stdout, status === 200 ? /^The receiver answered 200 in \d+ ms\.\n$/ : /500/);
  }
  await visitor.ask('POST /webhooks/remove', { id });
});

/** Returns values that do not match a schema: one for each of its rules. */
function breakRules({ pattern, minLength, maxLength, minimum, items, ...schema }: Rules): string[] {
  if (items) return breakRules(items);
  const long = `https://receiver.invalid/${'a'.repeat(maxLength ?? 0)}`;
  return [
    ...(pattern !== undefined || schema.enum ? ['no such value'] : []),
    ...(minLength === undefined ? [] : ['']),
    ...(maxLength === undefined ? [] : [long]),
    ...(minimum === undefined ? [] : ['-1']),
  ];
}

test('each command refuses the values that do not match the schema of its action, and writes no audit entry', async () => {
  let refused = 0;
  for (const [name, action] of commands) {
    const ending = ENDINGS[wordsOf(action)];
    if (!ending || action.runWhole) continue;
    const places = placesOf(action);
    const properties = (action.takes?.['properties'] ?? {}) as Record<string, Rules & { title?: string }>;
    for (const [member, { title = member, ...rules }] of Object.entries(properties))
      for (const value of breakRules(rules)) {
        const typed = ending('refused');
        const at = places.indexOf(member);
        if (at >= 0) typed[at] = value;
        else
          typed.push(`--${title.replace(/ .*/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, value);
        const before = (await auditOf(owner)).length;
        const { code, stdout } = await service.command(...lineOf(action, typed), '--json');
        assert.ok(code !== 0 && stdout === '', `${name}: ${member} ${value}: ${code} ${stdout}`);
        assert.equal((await auditOf(owner)).length, before, `${name}: ${member} ${value}`);
        refused++;
      }
  }
  assert.ok(refused > 20, `${refused} values`);
});

test('a move is in the audit log with the time of its end', async () => {
  const clock = new TestClock();
  const actor = { nowMs: clock.now(), actor: COMMAND_LINE, client: '' };
  const notes: AuditEntry[] = [];
  const placement = { findServer: async () => 'here', move: async () => clock.move(60_000) };
  const audit = { appendAudit: async (_: string, entry: AuditEntry) => void notes.push(entry) };
  const context = { placement, audit, clock, actor, tenant: { storeId: 'listed.1' }, teamId: 'listed' };
  await ACTIONS['tenant move'].run(context as unknown as ActionContext, { to: 'there' });
  const at = new Date(actor.nowMs + 60_000).toISOString();
  assert.deepEqual(pick(notes, 'at', 'action'), [{ at, action: 'tenant moved' }]);
});

test('each command writes the audit entry that it declares, and prints the team and its words', async () => {
  for (const [name, action] of commands) {
    const words = wordsOf(action);
    const ending = ENDINGS[words];
    if (!ending) continue;
    const before = (await auditOf(owner)).length;
    const typed = ending(words.replace(' ', ''));
    const { code, json, stderr } = await service.command(...lineOf(action, typed), '--json');
    // Nothing receives the messages of this webhook.
    assert.equal(code, words === 'webhook test' ? 1 : 0, `${name}: ${stderr}`);
    const printed = json() as Record<string, unknown>;
    if (action.command!.includes('<team>')) assert.equal(printed['teamID'], 'listed', name);
    const places = words.includes(' --') ? [] : placesOf(action).slice(0, typed.length);
    for (const [at, word] of places.entries()) assert.equal(printed[word], typed[at], `${name}: ${word}`);
    const added = (await auditOf(owner)).slice(before).map((record) => `${record.action} by ${record.actor}`);
    assert.deepEqual(added, action.notes === undefined ? [] : [`${action.notes} by command line`], name);
  }
});
