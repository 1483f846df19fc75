/** The built package, as it is published, also where a loader would take the sources. */
export const { DistributedLockModule, LockManager, MemoryStore, WithLock } = (await import(
  new URL('../dist/esm/index.js', import.meta.url).href
)) as typeof import('nestjs-fenced-lock');

export const { postgres } = (await import(
  new URL('../dist/esm/stores/postgres/index.js', import.meta.url).href
)) as typeof import('nestjs-fenced-lock/postgres');
