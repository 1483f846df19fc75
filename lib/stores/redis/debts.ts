import type { NodeRequest } from './lock-node.js';

/** What waits for its node to come back. */
export interface Debt {
  readonly request: NodeRequest;
  readonly timeoutMs: number;
}

/** Some hundred bytes each. What is more than that frees itself at its ttl. */
const MOST_OWED = 4096;
/** Locks that are held while their node is out. What is not noted costs a message more. */
const MOST_UNASKED = 65_536;

/** What a node that is out was not told: releases, which it is told when it answers again, unless it was never asked for what they release. */
export class Debts {
  #owed: Debt[] = [];
  /** Owners that asked other nodes only. */
  readonly #unasked = new Set<string>();

  /** This was not sent. */
  unsent({ request, timeoutMs }: Debt): void {
    const { verb, owner } = request;
    if (verb === 'acquire' || verb === 'queue') {
      if (this.#unasked.size < MOST_UNASKED) this.#unasked.add(owner);
    } else if (!this.#unasked.delete(owner)) this.unanswered({ request, timeoutMs });
  }

  /** This was sent, and may not have arrived. */
  unanswered(debt: Debt): void {
    const { verb } = debt.request;
    if ((verb === 'release' || verb === 'undo') && this.#owed.length < MOST_OWED) this.#owed.push(debt);
  }

  /** What is owed, to be sent now. */
  collect(): readonly Debt[] {
    const owed = this.#owed;
    this.#owed = [];
    return owed;
  }

  /** The node is back: from now on renewals may give it keys that it was not asked for. */
  forget(): void {
    this.#unasked.clear();
  }
}
