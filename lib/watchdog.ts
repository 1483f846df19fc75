import { now, type Moment } from './deadline.js';
import type { Runtime } from './runtime.js';

/** Something that wants attention at a time of its own choosing, again and again, until it is no longer watched. */
export interface Watched {
  /** When, on the monotonic clock, as seen at this moment; Infinity for never. */
  dueAt(at: Moment): number;
  /** How many ms earlier it may be served, so that it goes out together with others; it may then also come a little late. 0: neither. */
  slackMs(at: Moment): number;
  /** Called when due. It must move `dueAt` on, or unwatch itself. */
  attend(): void;
}

/** Those due at about the same time. */
interface Slot {
  readonly index: number;
  readonly members: Set<Watched>;
  /** Not later than the first of them is due. */
  firesAt: number;
}

/** Suspended machines wake with stale timers, and only a look at the clocks tells: so none is longer than this. */
const LONGEST_SLEEP_MS = 1000;
/** Wider slots find fewer due at once, narrower ones are more to look through. */
const SLOT_MS = 50;
/** More than ttls of half a minute use. */
const MOST_SLOTS = 1024;
/** What is served at a time: one script per node, which holds neither Redis nor this process up for much longer than a millisecond. */
const BATCH = 256;
/** Between batches: other work gets its turn, and locks that were taken together drift apart. */
const PACE_MS = 5;
/** Clocks that are read one after the other differ by less. */
const WALL_JUMP_MS = 5;

/** One scheduler, and at most one timer, for all locks of a manager. Those due at about the same time are served in one tick. */
export class Watchdog {
  readonly #slots = new Map<number, Slot>();
  readonly #slotOf = new Map<Watched, Slot>();
  #firesAt = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;
  #wallLead: number;

  constructor(
    private readonly runtime: Runtime,
    /** Runs what asks the store for many things, so that it can send them as one. */
    private readonly together: (ask: () => void) => void = (ask) => ask(),
  ) {
    this.#wallLead = wallLead(now(runtime.clock));
  }

  watch(watched: Watched): void {
    this.#place(watched, now(this.runtime.clock));
  }

  unwatch(watched: Watched): void {
    const slot = this.#slotOf.get(watched);
    if (!slot) return;
    this.#slotOf.delete(watched);
    slot.members.delete(watched);
    if (this.#slotOf.size === 0) this.#disarm();
  }

  /** To be called when `dueAt` moved; a later time than before costs nothing. */
  rescheduled(watched: Watched): void {
    const slot = this.#slotOf.get(watched);
    if (!slot) return;
    const at = now(this.runtime.clock);
    if (watched.dueAt(at) >= slot.firesAt) return;
    slot.members.delete(watched);
    this.#place(watched, at);
  }

  #place(watched: Watched, at: Moment): void {
    const dueAt = watched.dueAt(at);
    const index = Math.floor(dueAt / SLOT_MS);
    let slot = this.#slots.get(index);
    if (!slot) this.#slots.set(index, (slot = this.#newSlot(index)));
    slot.members.add(watched);
    this.#slotOf.set(watched, slot);
    slot.firesAt = Math.min(slot.firesAt, dueAt);
    if (dueAt < this.#firesAt) this.#arm(dueAt, at);
  }

  /** Slots that came to be empty stay, since most are soon used again; now and then they are swept out. */
  #newSlot(index: number): Slot {
    if (this.#slots.size >= MOST_SLOTS) this.#sweep();
    return { index, members: new Set(), firesAt: Number.POSITIVE_INFINITY };
  }

  #sweep(): void {
    for (const { index, members } of this.#slots.values()) if (members.size === 0) this.#slots.delete(index);
  }

  #arm(firesAt: number, at: Moment): void {
    this.#disarm();
    this.#firesAt = firesAt;
    const delayMs = Math.max(0, Math.ceil(firesAt - at.monotonic));
    this.#cancel = this.runtime.timers.start(() => this.#fire(), Math.min(delayMs, LONGEST_SLEEP_MS));
  }

  #disarm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#firesAt = Number.POSITIVE_INFINITY;
  }

  #fire(): void {
    this.#disarm();
    this.#sweep();
    const at = now(this.runtime.clock);
    this.#followWall(at);
    const due = this.#takeDue(at);
    if (due.length > 0) {
      this.together(() => {
        // One may unwatch another.
        for (const watched of due) if (this.#slotOf.has(watched)) watched.attend();
      });
      const after = now(this.runtime.clock);
      for (const watched of due) if (this.#slotOf.has(watched)) this.#place(watched, after);
    }
    let next = Number.POSITIVE_INFINITY;
    for (const { firesAt } of this.#slots.values()) next = Math.min(next, firesAt);
    const earliest = next <= at.monotonic ? at.monotonic + PACE_MS : next;
    if (earliest < this.#firesAt) this.#arm(earliest, now(this.runtime.clock));
  }

  /** All that must not wait, and one batch of what may come early or late; it stays watched, but in no slot. */
  #takeDue(at: Moment): readonly Watched[] {
    const { monotonic } = at;
    const slots = [...this.#slots.values()].sort((a, b) => a.index - b.index);
    const due: Watched[] = [];
    let room = BATCH;
    // Others come early with one that is due, not with a mere look at the clock.
    if (!slots.some((slot) => slot.firesAt <= monotonic && this.#isDue(slot, at))) return due;
    for (const slot of slots) {
      if (slot.firesAt > monotonic + LONGEST_SLEEP_MS || (slot.firesAt > monotonic && room === 0)) continue;
      let firesAt = Number.POSITIVE_INFINITY;
      for (const watched of slot.members) {
        const dueAt = watched.dueAt(at);
        const slackMs = watched.slackMs(at);
        const may = dueAt - slackMs <= monotonic && (slackMs === 0 || room-- > 0);
        if (may) due.push(watched);
        else firesAt = Math.min(firesAt, dueAt);
      }
      room = Math.max(room, 0);
      slot.firesAt = firesAt;
    }
    for (const watched of due) this.#slotOf.get(watched)!.members.delete(watched);
    return due;
  }

  /** Puts those right that were rescheduled for later: whether anything of the slot is due in earnest. */
  #isDue(slot: Slot, at: Moment): boolean {
    let firesAt = Number.POSITIVE_INFINITY;
    for (const watched of [...slot.members]) {
      const dueAt = watched.dueAt(at);
      if (Math.floor(dueAt / SLOT_MS) > slot.index) {
        slot.members.delete(watched);
        this.#place(watched, at);
      } else firesAt = Math.min(firesAt, dueAt);
    }
    slot.firesAt = firesAt;
    return firesAt <= at.monotonic;
  }

  /** When the wall clock ran ahead, everything may be due sooner. */
  #followWall(at: Moment): void {
    const lead = wallLead(at);
    const ahead = lead > this.#wallLead + WALL_JUMP_MS;
    this.#wallLead = lead;
    if (!ahead) return;
    const all = [...this.#slotOf.keys()];
    this.#slots.clear();
    for (const watched of all) this.#place(watched, at);
  }
}

function wallLead({ wall, monotonic }: Moment): number {
  return wall - monotonic;
}
