import type { ChildProcess } from '../support/child-process.js';
import type { Operation } from './operation.js';
import type { Message } from './worker.js';

/** A worker may be silent for as long as nobody answers it. */
const SILENCE_MS = 60_000;

type Call = Extract<Message, { call: unknown }>['call'];

/** Writes down what one worker tells of its calls. */
export class Recorder {
  readonly #answered: Operation[] = [];
  readonly #open = new Map<number, Call>();

  constructor(private readonly worker: ChildProcess) {}

  /** Until the worker is done. Rejects, with its output, if it ends before. */
  async record(): Promise<void> {
    for (;;) {
      const message = await this.worker.next<Message>(undefined, SILENCE_MS);
      if ('done' in message) return;
      if ('call' in message) this.#open.set(message.id, message.call);
      if (!('answer' in message)) continue;
      this.#answered.push({ ...this.#open.get(message.id)!, ...message.answer });
      this.#open.delete(message.id);
    }
  }

  /** What had no answer when its process ended has none for ever: what was on its way is carried out by then, or never. */
  history(endedAt: number): Operation[] {
    const open = [...this.#open.values()].map((call): Operation => ({
      ...call,
      outcome: 'unknown',
      answeredAt: endedAt,
    }));
    return [...this.#answered, ...open];
  }
}
