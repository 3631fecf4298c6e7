/** Declares tests of what a write refuses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Shop } from '../kit/records.ts';

/**
 * Declares a test. Its title begins with the status and the code, the bodies are listed by the field that the answers
 * name, and the first messages match the patterns. `Shop.refuses` checks that nothing has changed.
 */
type TestRefusal = (title: `400 ${string}`, bodiesByField: Record<string, unknown[]>, ...patterns: RegExp[]) => void;

export const refusalsOf =
  (shop: Shop, operation: Parameters<Shop['refuses']>[0]): TestRefusal =>
  (title, bodiesByField, ...patterns) =>
    void test(title, async () => {
      const [, code = ''] = /^400 (\w+)/.exec(title)!;
      const messages = await shop.refuses(operation, code, bodiesByField);
      for (const [index, pattern] of patterns.entries()) assert.match(messages[index]!, pattern);
    });
