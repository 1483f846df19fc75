import type { Prng } from './prng.js';
import type { SimProcess } from './sim-process.js';
import type { Timeline } from './timeline.js';

const LATENCY_MS = 3;

export interface Server {
  /** It hangs: what it is asked it does when it goes on. */
  frozen: boolean;
  /** It is off: who asks is refused. */
  down: boolean;
  /** How often it was started anew: what was on its way to an earlier life is lost with that one's connections. */
  life?: number;
}

/** The way from one process to one server. */
export class Link {
  /** up; cut: what is sent is refused at once; silent: it is lost, and nobody is told. */
  path: 'up' | 'cut' | 'silent' = 'up';

  constructor(
    private readonly process: SimProcess,
    private readonly server: Server,
    private readonly timeline: Timeline,
    private readonly prng: Prng,
    /** How often a message is late, and by how much at most. */
    private readonly late: { readonly rate: number; readonly mostMs: number },
  ) {}

  get refused(): boolean {
    return this.path === 'cut' || this.server.down;
  }

  /** `serve` happens at the server, so much later at least, or never; `answered` then in the process. */
  send<T>(serve: () => T, answered: (answer: T) => void, delayMs = 0): void {
    this.#carry(() => {
      const answer = serve();
      this.push(() => answered(answer));
    }, delayMs);
  }

  /** Something the server says unasked. */
  push(heard: () => void): void {
    this.#carry(() => this.process.run(heard));
  }

  #carry(arrive: () => void, delayMs = 0): void {
    if (this.#lost) return;
    const { life } = this.server;
    const extra = this.prng.chance(this.late.rate) ? this.prng.between(0, this.late.mostMs) : 0;
    this.timeline.after(delayMs + this.prng.between(0.1, LATENCY_MS) + extra, () => this.#arrive(arrive, life));
  }

  #arrive(arrive: () => void, life: number | undefined): void {
    if (this.#lost || life !== this.server.life) return;
    if (this.server.frozen) this.timeline.after(LATENCY_MS, () => this.#arrive(arrive, life));
    else arrive();
  }

  get #lost(): boolean {
    return this.path !== 'up' || this.server.down;
  }
}
