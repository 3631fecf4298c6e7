/**
 * Checks the manifests of deploy/kubernetes by the types of the Kubernetes API (kubernetes-types, made from its OpenAPI
 * document; an unknown field is a fault), and compares them with the service and the image.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { PostgresServer } from '../kit/postgres.ts';
import { ownService, Service, temporaryFolder } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { checkVariables, readImage, readText, readYaml, ROOT, type Tree } from './texts.ts';

const FOLDER = 'deploy/kubernetes';
const WAYS = ['one-node', 'several-nodes'] as const;
/** Time that calls get to finish, as in run-service.ts. */
const IN_FLIGHT_SECONDS = 10;
const SAVE_SECONDS = 10;
const SECRETS = '/etc/storeroom/database';
const NAME = { 'app.kubernetes.io/name': 'storeroom' };
/** Some of the kinds of volumes that the profile "restricted" of the Pod Security Standards allows. */
const VOLUMES = ['emptyDir', 'configMap', 'secret', 'persistentVolumeClaim'];

const namesOf = (way: string): string[] =>
  readdirSync(join(ROOT, FOLDER, way)).filter((name) => name !== 'kustomization.yaml');
const readWay = (way: string): Tree[] => namesOf(way).flatMap((name) => readYaml(join(FOLDER, way, name)));
const find = (way: string, kind: RegExp): Tree => readWay(way).find((manifest) => kind.test(manifest.kind as string));
const workloadOf = (way: string): Tree => find(way, /^(Deployment|StatefulSet)$/);
const podOf = (way: string): Tree => workloadOf(way).spec.template;
const containerOf = (way: string): Tree => podOf(way).spec.containers[0];

/** Returns what TypeScript reports about manifests as literals of their types; empty if it finds no fault. */
function checkTypes(manifests: readonly Tree[]): string {
  const lines = manifests.flatMap((manifest: Tree, index) => {
    const [version, group = 'core'] = (manifest.apiVersion as string).split('/').toReversed();
    const module = join(ROOT, `node_modules/kubernetes-types/${group.split('.')[0]}/${version}`);
    return [
      `import type { ${manifest.kind} as Kind${index} } from '${module}';`,
      `export const manifest${index}: Kind${index} = ${JSON.stringify(manifest, undefined, 1)};`,
    ];
  });
  const file = join(temporaryFolder(), 'manifests.ts');
  writeFileSync(file, lines.join('\n'));
  const { stdout, error } = spawnSync(
    join(ROOT, 'node_modules/.bin/tsc'),
    ['--ignoreConfig', '--noEmit', '--strict', '--module', 'preserve', file],
    { encoding: 'utf8' },
  );
  assert.equal(error, undefined);
  return stdout;
}

suite('the manifests for Kubernetes', () => {
  test('have only fields that the API knows, with the right types, and all required ones', () => {
    assert.equal(checkTypes(WAYS.flatMap(readWay)), '');
  });

  test('the check of their types finds a misspelt, misplaced, wrongly typed or missing field', () => {
    const plant = (change: (copy: Tree) => void): string => {
      const copy = structuredClone(workloadOf('several-nodes'));
      change(copy);
      return checkTypes([copy]);
    };
    assert.match(
      plant((copy) => (copy.spec.strategy.rollingUpdate.maxUnavailible = 0)),
      /maxUnavailible/,
    );
    assert.match(
      plant((copy) => (copy.spec.template.spec.readinessProbe = {})),
      /readinessProbe/,
    );
    assert.match(
      plant((copy) => (copy.spec.replicas = '3')),
      /'string' is not assignable to type 'number'/,
    );
    assert.match(
      plant((copy) => delete copy.spec.selector),
      /'selector' is missing/,
    );
  });

  for (const way of WAYS) {
    test(`${way}: its kustomization names every file, and the image by the version of the package`, () => {
      const [kustomization] = readYaml(join(FOLDER, way, 'kustomization.yaml'));
      assert.deepEqual((kustomization.resources as string[]).toSorted(), namesOf(way).toSorted());
      const { version } = JSON.parse(readText('package.json')) as { version: string };
      assert.deepEqual(kustomization.images, [{ name: 'storeroom', newName: 'storeroom', newTag: version }]);
      assert.equal(containerOf(way).image, 'storeroom');
    });

    test(`${way}: every selector matches the pods, and every port is the one that the service listens on`, () => {
      const image = readImage();
      const [{ name, containerPort }] = containerOf(way).ports;
      assert.equal(containerPort, image.port);
      assert.equal(checkVariables(image.env).port, image.port);
      assert.deepEqual(podOf(way).metadata.labels, NAME);
      assert.deepEqual(workloadOf(way).spec.selector.matchLabels, NAME);
      const { selector, ports } = find(way, /^Service$/).spec;
      assert.deepEqual([selector, ports[0].targetPort], [NAME, name]);
      const policy = find(way, /^NetworkPolicy$/).spec;
      assert.deepEqual([policy.podSelector.matchLabels, policy.ingress[0].ports], [NAME, [{ port: name }]]);
      for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe'])
        assert.equal(containerOf(way)[probe].httpGet.port, name);
    });

    test(`${way}: the service accepts its variables and responds to its probes`, async () => {
      const { data, metadata } = find(way, /^ConfigMap$/);
      assert.deepEqual(containerOf(way).envFrom, [{ configMapRef: { name: metadata.name } }]);
      checkVariables({ ...readImage().env, ...data });
      const service = await ownService({ env: { ...data, STOREROOM_DRAIN_MS: '0', STOREROOM_BACKUP_DIR: '' } });
      for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
        const { path } = containerOf(way)[probe].httpGet;
        assert.equal((await fetch(service.origin + path)).status, 200, probe);
      }
    });

    test(`${way}: a pod that stops drains for two periods of its probe, and ends before it is killed`, () => {
      const { drainMs } = checkVariables(find(way, /^ConfigMap$/).data);
      const { periodSeconds, failureThreshold } = containerOf(way).readinessProbe;
      assert.ok(drainMs >= 2 * periodSeconds * failureThreshold * 1000, `${drainMs} ms`);
      const { terminationGracePeriodSeconds } = podOf(way).spec;
      assert.ok(terminationGracePeriodSeconds >= drainMs / 1000 + IN_FLIGHT_SECONDS + SAVE_SECONDS);
    });

    test(`${way}: the pod has the profile "restricted", a read-only root, and the user of the image`, () => {
      const { uid, gid, folder, volumes } = readImage();
      const { spec } = podOf(way);
      const { runAsNonRoot, runAsUser, runAsGroup, seccompProfile } = spec.securityContext;
      assert.deepEqual([runAsNonRoot, runAsUser, runAsGroup], [true, uid, gid]);
      assert.deepEqual(seccompProfile, { type: 'RuntimeDefault' });
      assert.deepEqual(containerOf(way).securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      for (const field of ['hostNetwork', 'hostPID', 'hostIPC', 'hostUsers']) assert.equal(spec[field], undefined);
      for (const { name, ...kind } of spec.volumes as Tree[])
        assert.ok(
          Object.keys(kind as object).every((key) => VOLUMES.includes(key)),
          name,
        );
      assert.equal(spec.automountServiceAccountToken, false);
      const { requests, limits } = containerOf(way).resources;
      assert.ok(requests.cpu && requests.memory && limits.cpu && limits.memory);
      const mounts = (containerOf(way).volumeMounts as Tree[]).map(({ mountPath }) => mountPath);
      const { backupDir } = checkVariables(find(way, /^ConfigMap$/).data);
      assert.deepEqual(mounts, way === 'one-node' ? [folder, backupDir, '/tmp'] : ['/tmp', SECRETS]);
      assert.deepEqual(volumes, [folder]);
    });
  }

  test('several nodes are replaced without having too few, and spread over machines', () => {
    const { spec } = workloadOf('several-nodes');
    assert.equal(spec.strategy.rollingUpdate.maxUnavailable, 0);
    const budget = find('several-nodes', /^PodDisruptionBudget$/).spec;
    assert.deepEqual(budget.selector.matchLabels, NAME);
    assert.ok(budget.minAvailable >= 1 && budget.minAvailable < spec.replicas, 'one may go, and not all');
    for (const { labelSelector } of spec.template.spec.topologySpreadConstraints as Tree[])
      assert.deepEqual(labelSelector.matchLabels, NAME);
  });

  test('several nodes read the address of the database from the secret that is mounted', () => {
    const { env, volumeMounts } = containerOf('several-nodes');
    const [{ name, secret }] = (podOf('several-nodes').spec.volumes as Tree[]).filter((volume) => volume.secret);
    assert.ok(
      (volumeMounts as Tree[]).some((mount) => mount.name === name && mount.mountPath === SECRETS && mount.readOnly),
    );
    const [variable] = env;
    assert.deepEqual(variable, { name: 'STOREROOM_DATABASE_URL_FILE', value: `${SECRETS}/url` });
    const command = `kubectl create secret generic ${secret.secretName} --from-literal=url="$URL" --from-file=ca.crt`;
    assert.ok(readText('docs/install.md').includes(command));
    assert.ok(readText('docs/install.md').includes(`sslrootcert=${SECRETS}/ca.crt'`));
  });

  test('the ingress forwards all paths but the metrics to the port of the service', async () => {
    const [ingress] = readYaml(join(FOLDER, 'beside/ingress.yaml'));
    assert.equal(checkTypes([ingress]), '');
    const service = await ownService();
    const paths = ingress.spec.rules[0].http.paths as Tree[];
    const { metadata, spec } = find('one-node', /^Service$/);
    for (const { path, backend } of paths) {
      assert.deepEqual(backend.service, { name: metadata.name, port: { name: spec.ports[0].name } });
      const under = path === '/tenant' ? `${path}/api/pims/v1/fields` : path;
      assert.notEqual((await fetch(service.origin + under)).status, 404, path);
      assert.ok(!'/metrics'.startsWith(path as string));
    }
  });

  test('the ServiceMonitor chooses the service by a label that each kustomization gives it, at its port', () => {
    const [{ spec }] = readYaml(join(FOLDER, 'beside/service-monitor.yaml'));
    for (const way of WAYS) {
      const [kustomization] = readYaml(join(FOLDER, way, 'kustomization.yaml'));
      assert.deepEqual(spec.selector.matchLabels, kustomization.labels[0].pairs);
      assert.equal(spec.endpoints[0].port, find(way, /^Service$/).spec.ports[0].name);
    }
  });

  test('nodes without their database are not restarted, and get no calls', async () => {
    const server = await PostgresServer.start();
    after(() => server.remove());
    const service = await Service.start({ databaseUrl: await server.newDatabase() });
    after(() => service.stop('SIGKILL'));
    const { livenessProbe, readinessProbe } = containerOf('several-nodes');
    const look = async ({ httpGet }: Tree) => (await fetch(service.origin + httpGet.path)).status;
    await server.stop('immediate');
    await until(async () => (await look(readinessProbe)) === 503);
    assert.equal(await look(livenessProbe), 200);
  });
});
