import { LockUnavailableError } from '../../errors.js';

/** Neither store may decide at present, or nobody can say which. */
export function undecided(key: string, reason: string): LockUnavailableError {
  return new LockUnavailableError(key, [{ node: 'authority', reason }]);
}
