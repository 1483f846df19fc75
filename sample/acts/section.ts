/** Work under one lock, as someone sees it whom each holder asks for something while it holds: who came in when, and how many were in at once. */
export class Section {
  readonly tokens: number[] = [];
  mostAtOnce = 0;
  /** When each came in, in ms. */
  private readonly times: number[] = [];
  private inside = 0;

  enter(token: number): void {
    this.tokens.push(token);
    this.times.push(performance.now());
    this.inside++;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.inside);
  }

  leave(): void {
    this.inside--;
  }

  get tokensRose(): boolean {
    return this.tokens.every((token, nth) => nth === 0 || token > (this.tokens[nth - 1] ?? token));
  }

  /** The longest time in which nobody came in, between these two moments, in ms. */
  longestGap(from: number, to = performance.now()): number {
    const times = [from, ...this.times.filter((time) => time > from && time < to), to];
    return Math.max(0, ...times.map((time, nth) => time - (times[nth - 1] ?? time)));
  }
}
