import { LockOptionsError } from './errors.js';
import { LONGEST_KEY_BYTES } from './lock-key.js';

/** A `{0}` or `{1.customer.id}` of a template. */
interface TemplatePart {
  readonly text: string;
  readonly argument: number;
  readonly path: readonly string[];
}

const PART = /\{(\d+)((?:\.[^.{}]+)*)\}/g;
const REFUSED_NAMES = ['__proto__', 'constructor', 'prototype'];
const GRAMMAR = 'write {0} for the first argument, {1.customer.id} for a property; for anything else give a function.';

/**
 * A key with places for the arguments of a call: `ticket:{0}`, `order:{1.customer.id}`.
 *
 * Parts are escaped, so that two calls with different parts never share a key: `%`, `:` and whatever else the template has
 * between two parts are percent-encoded inside a part. All other characters stay as they are.
 */
export class KeyTemplate {
  readonly #literals: readonly string[];
  readonly #parts: readonly TemplatePart[];
  readonly #escaped: ReadonlySet<string>;

  /** @throws LockOptionsError when the template cannot be read, or would give two different calls one key. */
  constructor(readonly template: string) {
    if (typeof template !== 'string' || template === '') {
      throw new LockOptionsError('key template', template, "give a non-empty string such as 'ticket:{0}'.");
    }
    const literals: string[] = [];
    const parts: TemplatePart[] = [];
    let end = 0;
    for (const match of template.matchAll(PART)) {
      literals.push(template.slice(end, match.index));
      end = match.index + match[0].length;
      parts.push({ text: match[0], argument: Number(match[1]), path: (match[2] ?? '').split('.').slice(1) });
    }
    literals.push(template.slice(end));

    if (literals.some((literal) => /[{}]/.test(literal))) {
      throw new LockOptionsError('key template', template, GRAMMAR);
    }
    for (const { text, path } of parts) {
      const refused = path.find((name) => REFUSED_NAMES.includes(name));
      if (refused) throw new LockOptionsError('key template', template, `${text} may not go through ${refused}.`);
    }
    this.#literals = literals;
    this.#parts = parts;
    this.#escaped = new Set(['%', ':', ...literals.slice(1, -1).map((literal) => separatorOf(literal, template))]);
  }

  /** The positions of the arguments it reads. */
  get arguments(): readonly number[] {
    return this.#parts.map(({ argument }) => argument);
  }

  /** @throws LockOptionsError naming the template and the part when a part is missing or has no text form. */
  fill(args: readonly unknown[]): string {
    let key = this.#literals[0] ?? '';
    this.#parts.forEach((part, index) => {
      key += this.#escape(this.#textOf(part, args)) + (this.#literals[index + 1] ?? '');
    });
    return key;
  }

  #textOf(part: TemplatePart, args: readonly unknown[]): string {
    let value: unknown = args[part.argument];
    for (const name of part.path) {
      // Own properties only: a path that comes upon a prototype would lock on something every call shares.
      value =
        typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : null;
    }
    const text = toText(value);
    if (text === undefined) {
      const remedy =
        value == null
          ? 'it is missing in this call; pass it, or give a function that makes the key.'
          : 'it has no text form of its own; address a property of it, as in {0.id}, or give a function.';
      throw new LockOptionsError(this.#name(part), value, remedy);
    }
    // It may come from a request, and would only be found to be too long once all of it is escaped.
    if (text.length > LONGEST_KEY_BYTES) {
      throw new LockOptionsError(this.#name(part), text, `a key has at most ${LONGEST_KEY_BYTES} bytes; hash it.`);
    }
    return text;
  }

  #name({ text }: TemplatePart): string {
    return `part ${text} of key template ${JSON.stringify(this.template)}:`;
  }

  #escape(text: string): string {
    let escaped = '';
    for (const character of text) escaped += this.#escaped.has(character) ? percentEncode(character) : character;
    return escaped;
  }
}

/** The character that ends the part before `literal`. Escapes are made of `%`, digits and letters: none of these can. */
function separatorOf(literal: string, template: string): string {
  if (literal.includes(':')) return ':';
  const separator = [...literal].find((character) => !/[%0-9A-Za-z]/.test(character));
  if (separator === undefined) {
    throw new LockOptionsError('key template', template, "two parts run into each other; put ':' between them.");
  }
  return separator;
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined;
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : undefined;
}

function percentEncode(character: string): string {
  return Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}
