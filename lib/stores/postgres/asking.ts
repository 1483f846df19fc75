import type { AdvisoryId } from './lock-id.js';

/** Attempts of this process under way, one at a time for each lock: the server would give a session the lock that it already has. */
export class Asking {
  readonly #current = new Map<AdvisoryId, Promise<void>>();

  /** Resolves when the present attempt at this lock has ended, however it did. */
  present(lock: AdvisoryId): Promise<void> | undefined {
    return this.#current.get(lock);
  }

  start<T>(lock: AdvisoryId, attempt: () => Promise<T>): Promise<T> {
    const attempted = attempt().finally(() => this.#current.delete(lock));
    this.#current.set(lock, ended(attempted));
    return attempted;
  }
}

export function ended(work: Promise<unknown>): Promise<void> {
  return work.then(
    () => undefined,
    () => undefined,
  );
}
