import fc from 'fast-check';
import { LockOptionsError } from '../../lib/errors.js';

/** Longer than any message need be, whatever it is about. */
const LONGEST_MESSAGE = 600;

/** What it returns; undefined if it refuses its input as it should. Any other error is a crash. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof LockOptionsError)) throw error;
    if (error.message.length > LONGEST_MESSAGE) throw new Error(`A message of ${error.message.length} characters`);
    return undefined;
  }
}

/** Any UTF-16, half of a surrogate pair included. */
export const utf16 = (maxLength = 40): fc.Arbitrary<string> =>
  fc.array(fc.oneof(fc.nat(0x7f), fc.nat(0xffff)), { maxLength }).map((units) => String.fromCharCode(...units));

export const unicode = (maxLength = 60): fc.Arbitrary<string> => fc.string({ unit: 'binary', maxLength });

/** What JSON of a stranger, and what a mistake, can bring. */
export const anything = (): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true, withNullPrototype: true }),
    fc.json().map((text) => JSON.parse(text) as unknown),
    fc.constantFrom<unknown>(
      JSON.parse('{"__proto__": {"polluted": true}}'),
      JSON.parse('{"constructor": {"prototype": {"polluted": true}}}'),
      Symbol('s'),
      () => undefined,
      new Proxy({}, {}),
    ),
    utf16(),
  );

/** What is there of the objects that all others inherit from. */
export function prototypes(): string {
  return [Object.prototype, Array.prototype, Function.prototype, String.prototype]
    .map((prototype) => Reflect.ownKeys(prototype).map(String).join())
    .join('\n');
}
