import type { Prng } from '../../../simulation/prng.js';
import type { SimProcess } from './sim-process.js';
import type { Timeline } from './timeline.js';

const LATENCY_MS = 3;

export interface Server {
  /** It hangs: what it is asked it does when it goes on. */
  frozen: boolean;
  /** It is off: who asks is refused. */
  down: boolean;
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

  /** `serve` happens at the server, later or never; `answered` then in the process. */
  send<T>(serve: () => T, answered: (answer: T) => void): void {
    this.#carry(() => {
      const answer = serve();
      this.#carry(() => this.process.run(() => answered(answer)));
    });
  }

  #carry(arrive: () => void): void {
    if (this.#lost) return;
    const extra = this.prng.chance(this.late.rate) ? this.prng.between(0, this.late.mostMs) : 0;
    this.timeline.after(this.prng.between(0.1, LATENCY_MS) + extra, () => this.#arrive(arrive));
  }

  #arrive(arrive: () => void): void {
    if (this.#lost) return;
    if (this.server.frozen) this.timeline.after(LATENCY_MS, () => this.#arrive(arrive));
    else arrive();
  }

  get #lost(): boolean {
    return this.path !== 'up' || this.server.down;
  }
}
