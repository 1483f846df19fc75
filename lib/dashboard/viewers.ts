import type { ServerResponse } from 'node:http';
import type { Clock } from '../runtime.js';
import { EventStream } from './event-stream.js';

/** What a viewer has been sent, up to which version of each part; undefined: nothing yet. */
export interface Progress {
  readonly table: number | undefined;
  readonly holds: number;
  readonly figures: string;
  readonly health: number;
}

/** What brings somebody who is so far up to date, and how far they are then. */
export type Compose = (from: Progress) => { readonly json: string; readonly to: Progress };

interface Viewer {
  readonly stream: EventStream;
  progress: Progress;
}

const NOTHING: Progress = { table: undefined, holds: 0, figures: '', health: 0 };
const MOST_VIEWERS = 50;

/** Those who watch. Who does not keep up is skipped, and later gets what changed meanwhile as one: nothing piles up for them. */
export class Viewers {
  readonly #viewers = new Set<Viewer>();

  constructor(private readonly clock: Clock) {}

  get any(): boolean {
    return this.#viewers.size > 0;
  }

  get isFull(): boolean {
    return this.#viewers.size >= MOST_VIEWERS;
  }

  add(response: ServerResponse): void {
    const left = (): void => void this.#viewers.delete(viewer);
    const stream = new EventStream(response, this.clock, left);
    const viewer: Viewer = { stream, progress: NOTHING };
    if (!stream.isClosed) this.#viewers.add(viewer);
  }

  tell(compose: Compose): void {
    /** Most are equally far. */
    const composed = new Map<string, ReturnType<Compose>>();
    for (const viewer of this.#viewers) {
      if (!viewer.stream.isReady()) continue;
      const from = JSON.stringify(viewer.progress);
      const { json, to } = composed.get(from) ?? compose(viewer.progress);
      composed.set(from, { json, to });
      viewer.stream.send(json);
      viewer.progress = to;
    }
  }

  end(): void {
    for (const { stream } of this.#viewers) stream.end();
  }
}
