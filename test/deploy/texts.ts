/** Reads what the tests of deploy/ check: YAML files, the Dockerfile, and settings as the service parses them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { parseConfig, type Config } from '../../src/config.ts';

export const ROOT = join(import.meta.dirname, '../..');

// eslint-disable-next-line typescript/no-explicit-any -- tests look into it freely
export type Tree = any;

export const readText = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Returns the documents of a YAML file. Fails on a mistake, such as a key that is given twice. */
export function readYaml(file: string): Tree[] {
  return parseAllDocuments(readText(file), { merge: true }).map((document) => {
    assert.deepEqual([...document.errors, ...document.warnings], [], file);
    return document.toJS();
  });
}

/** Parses variables as settings. Fails if one is not a setting or has an invalid value. */
export function checkVariables(variables: Record<string, string>): Config {
  const { config, unknown } = parseConfig(variables, {});
  assert.deepEqual(unknown, []);
  return config;
}

export interface Instruction {
  readonly name: string;
  /** Its options, such as `--from=build`. */
  readonly options: Readonly<Record<string, string>>;
  /** The text after the options, unchanged. */
  readonly text: string;
}

/** Returns the instructions of the Dockerfile in their order. */
export function readDockerfile(): Instruction[] {
  const lines = readText('Dockerfile')
    .replace(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  return lines
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', flags = '', text = ''] = /^([A-Z]+)((?:\s+--\S+)*)\s+(.*)$/.exec(line) ?? [];
      assert.notEqual(name, '', line);
      const options = [...flags.matchAll(/--([a-z-]+)=(\S+)/g)].map(([, key = '', value = '']) => [key, value]);
      return { name, options: Object.fromEntries(options) as Record<string, string>, text };
    });
}

export interface Image {
  readonly env: Record<string, string>;
  readonly uid: number;
  readonly gid: number;
  readonly folder: string;
  readonly volumes: readonly string[];
  readonly port: number;
  readonly stopSignal: NodeJS.Signals;
  readonly health: readonly string[];
  /** Entry point and command. */
  readonly words: readonly string[];
}

/** Returns what the last stage of the Dockerfile says about the image. */
export function readImage(): Image {
  const all = readDockerfile();
  const last = all.slice(all.findLastIndex(({ name }) => name === 'FROM'));
  const find = (wanted: string): string => {
    const [first, ...more] = last.filter(({ name }) => name === wanted);
    assert.ok(first && more.length === 0, `the image has one ${wanted}`);
    return first.text;
  };
  const [uid, gid] = find('USER').split(':').map(Number);
  return {
    env: Object.fromEntries([...find('ENV').matchAll(/(\w+)=(\S+)/g)].map(([, key, value]) => [key, value])),
    uid: uid!,
    gid: gid!,
    folder: find('WORKDIR'),
    volumes: JSON.parse(find('VOLUME')) as string[],
    port: Number(find('EXPOSE')),
    stopSignal: find('STOPSIGNAL') as NodeJS.Signals,
    health: JSON.parse(find('HEALTHCHECK').replace(/^.*CMD /, '')) as string[],
    words: [...(JSON.parse(find('ENTRYPOINT')) as string[]), ...(JSON.parse(find('CMD')) as string[])],
  };
}
