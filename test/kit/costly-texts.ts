/** Parts of texts that are expensive to search for secrets: encodings, alone and nested, and runs of escapes. */
import { times } from './lists.ts';

const nested = times(5, Number).reduce((text) => Buffer.from(text).toString('base64'), 'x'.repeat(300));

export const COSTLY = ['YWFh', '61', '\\u0041', '%2541', '\\', '%25', 'Basic ', 'http://a:', '"a":', nested] as const;
