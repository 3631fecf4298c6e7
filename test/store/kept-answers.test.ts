/** Tests that kept answers are found only in the state in which they were read, and that their size is bounded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeKeptAnswers, type KeptAnswers } from '../../src/store/sqlite/tenant-reads.ts';
import { times } from '../kit/lists.ts';

const keepTwice = (kept: KeptAnswers, ...answer: Parameters<KeptAnswers['keep']>): void => {
  kept.keep(...answer);
  kept.keep(...answer);
};

test('a response is kept when it is read a second time, not the first time', () => {
  const kept = makeKeptAnswers();
  const epoch = kept.newEpoch();
  kept.keep('a', epoch, 'an answer', 3);
  assert.equal(kept.findAnswer('a', epoch), undefined);
  kept.keep('a', epoch, 'an answer', 3);
  assert.equal(kept.findAnswer('a', epoch), 'an answer');
});

test('a response is found in its epoch and in no other', () => {
  const kept = makeKeptAnswers();
  const [before, after] = [kept.newEpoch(), kept.newEpoch()];
  keepTwice(kept, 'a', before, 'old', 3);
  assert.equal(kept.findAnswer('a', before), 'old');
  assert.equal(kept.findAnswer('a', after), undefined);
  assert.equal(kept.findAnswer('b', before), undefined);
  keepTwice(kept, 'a', after, 'new', 3);
  assert.equal(kept.findAnswer('a', after), 'new');
  assert.equal(kept.findAnswer('a', before), undefined);
});

test('the last read responses are kept, up to 24 MiB; a large one never is', () => {
  const kept = makeKeptAnswers();
  const epoch = kept.newEpoch();
  const countKept = (): number => times(4000, (i) => kept.findAnswer(String(i), epoch)).filter(Boolean).length;
  for (let round = 0; round < 3; round++)
    for (let i = 0; i < 4000; i++) keepTwice(kept, String(i), epoch, 'an answer', 24 * 1024);
  const count = countKept();
  assert.ok(count > 900 && count <= 1024, `${count} answers`);
  assert.ok(kept.findAnswer('3999', epoch));
  assert.equal(kept.findAnswer('2500', epoch), undefined);
  keepTwice(kept, 'large', epoch, 'an answer', 1024 * 1024);
  assert.equal(kept.findAnswer('large', epoch), undefined);
  assert.equal(countKept(), count);
});
