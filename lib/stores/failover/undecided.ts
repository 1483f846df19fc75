import { LockUnavailableError } from '../../errors.js';

/** Neither store may decide at present, or nobody can say which. */
export function undecided(key: string, reason: string): LockUnavailableError {
  return new LockUnavailableError(key, [{ node: 'authority', reason }]);
}

/** With a fallback nothing lasts: when Redis stays as it is, Postgres decides after a while, and who waits gets there. */
export function passing(error: unknown): unknown {
  if (!(error instanceof LockUnavailableError)) return error;
  const causes = error.causes.map(({ lasting: _, ...cause }) => cause);
  return new LockUnavailableError(error.key, causes);
}
