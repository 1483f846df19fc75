import type { NodeVerb } from './lock-node.js';

/** Set on each node once; its absence shows that the node came back empty. No user key can collide with it: theirs are in braces. */
export const MARKER_KEY = 'lock:marker';

const ANY_SPECIAL = /[%{}]/;
const SPECIAL = /[%{}]/g;

/** The user's key as part of a Redis key name. In braces, so that all names of one key share a Cluster slot; therefore no braces within. */
function tagged(key: string): string {
  return `lock:{${ANY_SPECIAL.test(key) ? key.replace(SPECIAL, encodeURIComponent) : key}}`;
}

/** The user's key, as it was before. */
export function untagged(encoded: string): string {
  return encoded.replace(/%(25|7B|7D)/g, decodeURIComponent);
}

/** A glob pattern that matches the locks of all keys with this prefix, and nothing else of theirs: there are no braces within. */
export function lockPattern(clientPrefix: string, prefix: string): string {
  const start = `${clientPrefix}${tagged(prefix).slice(0, -1)}`;
  return `${start.replace(/[\\*?[\]^-]/g, '\\$&')}*}`;
}

/** The user's key, of the name of its lock. */
export function keyOf(clientPrefix: string, name: string): string {
  return untagged(name.slice(`${clientPrefix}lock:{`.length, -1));
}

/** Those that look at who waits. */
export const WITH_LINE: ReadonlySet<NodeVerb> = new Set(['queue', 'leave', 'release', 'inspect']);

/** Where it is said that the key has come free, and whose it was; as a key, the line of those who wait for it. */
export function freeChannel(key: string): string {
  return `${tagged(key)}:free`;
}

/** Where it is said whose turn it is: one channel for each process, under the name that its owners begin with. node-lua.ts makes the same of the name of a line. */
export function turnChannel(prefix: string, owner: string): string {
  const end = owner.indexOf('/');
  return `${prefix}lock:turn:${end < 0 ? owner : owner.slice(0, end)}`;
}

export function lockName(key: string): string {
  return tagged(key);
}

export function fenceName(key: string): string {
  return `${tagged(key)}:fence`;
}

/** Adds the names a request needs. */
export function pushKeyNames(names: string[], key: string, verb: NodeVerb): void {
  const lock = tagged(key);
  names.push(lock, `${lock}:fence`);
  if (WITH_LINE.has(verb)) names.push(`${lock}:free`);
}
