import type { AuthorityChange, AuthorityState } from 'nestjs-fenced-lock';

/** Which store decided about locks, one after the other, put together from what all pods tell. */
export class AuthorityWatch {
  readonly states: AuthorityState[] = [];
  private epoch = 0;

  constructor(private readonly onChange: (change: AuthorityChange) => void) {}

  /** Pods see the same changes, each at its own time; one that was slow may have missed some. */
  heard(change: AuthorityChange): void {
    if (change.epoch <= this.epoch) return;
    this.epoch = change.epoch;
    this.states.push(change.to);
    if (change.from) this.onChange(change);
  }

  get now(): AuthorityState | undefined {
    return this.states.at(-1);
  }

  /** Whether these were among the states, in this order. */
  went(...way: AuthorityState[]): boolean {
    const rest = [...way];
    for (const state of this.states) if (state === rest[0]) rest.shift();
    return rest.length === 0;
  }
}
