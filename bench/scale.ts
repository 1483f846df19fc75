/** How much of the bench is run. */
export interface Scale {
  /** Factor on the number of rounds. */
  readonly rounds: number;
  /** Factor on the operations of a turn. */
  readonly operations: number;
  /** Rounds that do not count, in which the code of all contenders is compiled to what it will stay. */
  readonly warmUp: number;
}

/** `--smoke`: shows that it runs, and nothing else. */
export const SMOKE: Scale = { rounds: 0.01, operations: 0.05, warmUp: 0 };

export function full(rounds: number): Scale {
  return { rounds, operations: 1, warmUp: 10 };
}

export function scaled(count: number, { operations }: Pick<Scale, 'operations'>): number {
  return Math.max(2, Math.round(count * operations));
}

export function rounds(count: number, scale: Pick<Scale, 'rounds'>): number {
  return Math.max(1, Math.round(count * scale.rounds));
}
