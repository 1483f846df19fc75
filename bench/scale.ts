/** How much of the bench is run. */
export interface Scale {
  /** Factor on the number of rounds. */
  readonly rounds: number;
  /** Factor on the operations of a turn. */
  readonly operations: number;
}

export function scaled(count: number, { operations }: Scale): number {
  return Math.max(2, Math.round(count * operations));
}

export function rounds(count: number, scale: Scale): number {
  return Math.max(2, Math.round(count * scale.rounds));
}
