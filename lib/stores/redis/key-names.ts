/** Set on each node once; its absence shows that the node came back empty. No user key can collide with it: theirs are in braces. */
export const MARKER_KEY = 'lock:marker';

const ANY_SPECIAL = /[%{}]/;
const SPECIAL = /[%{}]/g;

/** The user's key as part of a Redis key name. In braces, so that all names of one key share a Cluster slot; therefore no braces within. */
function tagged(key: string): string {
  return `lock:{${ANY_SPECIAL.test(key) ? key.replace(SPECIAL, encodeURIComponent) : key}}`;
}

/** Where it is said that the key has come free, and whose it was. */
export function freeChannel(key: string): string {
  return `${tagged(key)}:free`;
}

/** The names a request needs; the third is of a line. */
export function keyNames(key: string, verb: string): [lock: string, other: string, line?: string] {
  const lock = tagged(key);
  if (verb === 'release' || verb === 'leave') return [lock, freeChannel(key)];
  return verb === 'queue' ? [lock, `${lock}:fence`, freeChannel(key)] : [lock, `${lock}:fence`];
}
