import type { MutexTerms, Operation } from './operation.js';

/** What the operations of one attempt say about when it held its key. */
export class Hold {
  /** It began to hold in between. */
  readonly from: number;
  readonly until: number;
  /** It held at least until then: as long as the lease that it was granted, or a later proof that it still had the key. */
  heldUntil: number;
  /** It held no longer than that. */
  goneBy = Number.POSITIVE_INFINITY;
  /** Nobody can be refused because of it after that. */
  #mayBlockUntil: number;
  #released = false;
  #askedToRelease = false;
  readonly contradictions: string[] = [];

  constructor(
    readonly acquire: Operation,
    private readonly terms: MutexTerms,
  ) {
    this.from = acquire.invokedAt;
    this.until = acquire.answeredAt;
    this.heldUntil = this.#leaseEnd(acquire);
    this.#mayBlockUntil = this.#latestEnd(acquire);
  }

  get token(): number {
    return this.acquire.token!;
  }

  get mayBlockUntil(): number {
    return Math.min(
      this.#mayBlockUntil,
      this.#released ? this.goneBy + this.terms.freedAfterMs : Number.POSITIVE_INFINITY,
    );
  }

  /** Takes what came after the acquire, in the order in which it was invoked. */
  add(operation: Operation): void {
    if (operation.what === 'renew') this.#renew(operation);
    else this.#release(operation);
  }

  /** What cannot be, whatever others did. */
  check(): string[] {
    if (this.heldUntil > this.goneBy && !this.terms.forgetful) {
      this.contradictions.push(`lost before its time: ${String(this)}`);
    }
    return this.contradictions;
  }

  toString(): string {
    const { process, key, token } = this.acquire;
    const times = [this.from, this.until, this.heldUntil].map((ms) => ms.toFixed(1));
    return `${key} of ${process} with ${token} (asked ${times[0]}, granted ${times[1]}, held until ${times[2]} at least)`;
  }

  #renew(operation: Operation): void {
    const { outcome, invokedAt, answeredAt } = operation;
    if (outcome !== 'no') this.#mayBlockUntil = Math.max(this.#mayBlockUntil, this.#latestEnd(operation));
    if (outcome === 'ok') {
      if (this.goneBy <= invokedAt) this.contradictions.push(`renewed after it was gone: ${String(this)}`);
      // One that crossed a release proves only that the key was still there.
      this.heldUntil = Math.max(this.heldUntil, this.#askedToRelease ? invokedAt : this.#leaseEnd(operation));
    } else if (outcome === 'no') this.#goneBy(answeredAt);
  }

  #release(operation: Operation): void {
    const { outcome, invokedAt, answeredAt } = operation;
    this.#askedToRelease = true;
    if (outcome === 'ok') {
      if (this.goneBy <= invokedAt) this.contradictions.push(`released after it was gone: ${String(this)}`);
      // Until then it was there to be released, even if its lease was over.
      this.heldUntil = invokedAt;
      this.#released = true;
      this.#goneBy(answeredAt);
    } else {
      // It may have been given back as soon as that was asked for.
      this.heldUntil = Math.min(this.heldUntil, invokedAt);
      if (outcome === 'no') this.#goneBy(answeredAt);
    }
  }

  #goneBy(at: number): void {
    this.goneBy = Math.min(this.goneBy, at);
  }

  #leaseEnd({ process, invokedAt, ttlMs }: Operation): number {
    return Math.min(invokedAt + this.terms.validity(ttlMs), this.terms.killedAt?.[process] ?? Infinity);
  }

  #latestEnd({ answeredAt, ttlMs }: Operation): number {
    return answeredAt + ttlMs + this.terms.freedAfterMs;
  }
}
