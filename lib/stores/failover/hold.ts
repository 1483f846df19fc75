/** What one owner has of one key, and where. */
export class Hold {
  /** The owner as Redis knows it; undefined while Redis has nothing of it. An owner id is good for one attempt there, so a later one gets another. */
  redisOwner: string | undefined;
  /** The fence on Redis, where that is above the token of the lock. */
  redisFence = 0;
  /** What Postgres has of it. Alone: and Redis has not. */
  postgres: 'none' | 'too' | 'alone' = 'none';
  released = false;
  /** When, on the monotonic clock, it is over unless renewed. */
  endsAt = 0;
  #lost: (() => void) | undefined;
  #gone = false;
  #stopListening: (() => void) | undefined;

  constructor(
    readonly key: string,
    readonly owner: string,
    /** The token that the holder was given. */
    public token: number,
  ) {}

  /** Postgres has it from now on, and `listen` tells when it no longer does. */
  onPostgres(as: 'too' | 'alone', listen: ((lost: () => void) => () => void) | undefined): void {
    const already = this.postgres !== 'none';
    this.postgres = as;
    if (!already) this.#stopListening = listen?.(() => this.#vanish());
  }

  offPostgres(): void {
    this.postgres = 'none';
    this.#stopListening?.();
    this.#stopListening = undefined;
  }

  onLoss(lost: () => void): () => void {
    if (this.#gone) lost();
    this.#lost = lost;
    return () => (this.#lost = undefined);
  }

  #vanish(): void {
    this.#gone = true;
    this.#lost?.();
  }
}
