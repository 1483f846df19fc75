interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** What happens when, on the one true clock that no process can see. Events of one moment happen in the order in which they were planned. */
export class Timeline {
  nowMs = 0;
  /** Whether a process has done anything since this was last set to false. */
  stirred = false;
  readonly #heap: Event[] = [];
  #planned = 0;

  after(delayMs: number, run: () => void): void {
    this.#push({ at: this.nowMs + Math.max(0, delayMs), order: this.#planned++, run });
  }

  /** Lets the next event happen; false if none is left before `endMs`. */
  next(endMs: number): boolean {
    const [first] = this.#heap;
    if (!first || first.at > endMs) return false;
    this.#pop();
    this.nowMs = first.at;
    first.run();
    return true;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (before(heap[parent]!, event)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let index = 0;
    for (let child = 1; child < heap.length; child = index * 2 + 1) {
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (before(last, heap[child]!)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
  }
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
