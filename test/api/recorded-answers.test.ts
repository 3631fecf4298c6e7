/**
 * Tests that old clients get the same answers: recorded-answers.json has calls of the twelve operations, with the
 * answers of version 0.1.0. Both stores must return the same bytes and headers, except ETag. Members of errors and
 * fields of orders that were added since, and the words of messages, are not compared. Two values were changed by hand:
 * a backorder keeps the units that were reported as shipped (S8.8), and a path that is near to none has no `suggestion`
 * (S3.10). Never record the file again.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { basicOf } from '../kit/operations.ts';
import { Shop, type RecordType, type Values } from '../kit/records.ts';
import { BASE_PATH } from '../kit/service.ts';

/** A command, or a call and its answer: the status line, the headers as they were sent, an empty line, the body. */
type Step = { readonly command: readonly string[] } | Recorded;
interface Recorded {
  readonly call: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly answer: readonly string[];
}
interface Recording {
  readonly records: Record<RecordType, Values[]>;
  readonly steps: readonly Step[];
}

const { records, steps } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'recorded-answers.json'), 'utf8'),
) as Recording;
const shop = await Shop.shared('recorded');

/** Lock codes in the order of their appearance. `named` gives names to these and to all that differs between runs. */
const lockCodes: string[] = [];
const named = (text: string): string =>
  text
    .replaceAll(/(?<="LINE_REF_LOCK_CODE":")[^"]+/g, (code) => {
      if (!lockCodes.includes(code)) lockCodes.push(code);
      return `<lock ${lockCodes.indexOf(code)}>`;
    })
    .replaceAll(/20[2-9]\d-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/(?<=[Rr]equest-?[Ii]d"?: ?"?)[\w-]+/g, '<id>')
    .replaceAll(/"BACKORDER_OF":"\d*","RETURN_OF":"",/g, '')
    .replaceAll(/"remedy":"[^"]+","docs":"\/docs\/errors#[A-Z_]+",/g, '')
    .replaceAll(/(?<=^(x-next-cursor|Date): ).*/gim, '<$1>')
    .replaceAll(/(?<= has no line with the LINE_REF_LOCK_CODE ')[^']+/g, '<lock>');
let cursor = '';
const meant = (text: string): string =>
  text.replaceAll(/<lock (\d+)>/g, (_, place: string) => lockCodes[Number(place)]!).replaceAll('<cursor>', cursor);

function send({ call, headers, body }: Recorded): Promise<string[]> {
  const [method, path = ''] = call.split(' ');
  const url = new URL(shop.service.origin + BASE_PATH + meant(path));
  url.searchParams.append('teamID', shop.keys.teamID);
  const bytes = body === undefined ? undefined : meant(typeof body === 'string' ? body : JSON.stringify(body));
  const sent = {
    authorization: basicOf(shop.keys),
    ...(bytes !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) }),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    request(url, { method, headers: sent, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('error', reject).on('end', () => {
        const lines = response.rawHeaders
          .flatMap((name, index, all) => (index % 2 ? [] : [`${name}: ${all[index + 1]}`]))
          .filter((line) => !/^etag:/i.test(line))
          .map((line) => (line === `content-length: ${Buffer.byteLength(text)}` ? 'content-length: <length>' : line));
        cursor = String(response.headers['x-next-cursor'] ?? cursor);
        const answer = [`${response.statusCode} ${response.statusMessage}`, ...lines, '', text].join('\n');
        resolve(named(answer).split('\n'));
      });
    })
      .on('error', reject)
      .end(bytes);
  });
}

const withoutWords = (lines: readonly string[]): string[] =>
  lines.map((line) => line.replace(/(?<=^\{"status":"error",.*"message":")(?:[^"\\]|\\.)*/, '<message>'));

// Holds S1.2.
test('every recorded call gets the same response as before, byte for byte, except ETag', async () => {
  for (const [recordType, rows] of Object.entries(records)) await shop.load(recordType as RecordType, rows);
  await shop.run('fields', 'add', 'recorded', 'orders', 'GIFT', '--type', 'flag');
  assert.ok(steps.length > 150);
  for (const step of steps)
    if ('command' in step) await shop.run(...step.command);
    else assert.deepEqual(withoutWords(await send(step)), withoutWords(step.answer), step.call);
});
