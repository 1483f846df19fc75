import { now, type Moment } from './deadline.js';
import type { Runtime } from './runtime.js';

/** Something that wants attention at a time of its own choosing, again and again, until it is no longer watched. */
export interface Watched {
  /** When, on the monotonic clock, as seen at this moment; Infinity for never. */
  dueAt(at: Moment): number;
  /** How many ms earlier it may be served, so that it goes out together with others; it may then also come a little late. 0: neither. */
  slackMs(at: Moment): number;
  /** Called when due, at this moment. It must move `dueAt` on, or unwatch itself. */
  attend(at: Moment): void;
  /** Where the watchdog keeps it: only for the watchdog. Undefined while it is not watched. */
  slot: Slot | undefined;
  place: number;
}

/** Those due at about the same time. */
export interface Slot {
  readonly index: number;
  readonly members: Watched[];
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
  /** Those that are being served. */
  readonly #attended = newSlot(Number.NaN);
  #count = 0;
  /** When the timer fires. */
  #wakesAt = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;
  #wallLead: number;

  constructor(
    private readonly runtime: Runtime,
    /** Runs what asks the store for many things, so that it can send them as one. */
    private readonly together: (ask: () => void) => void = (ask) => ask(),
  ) {
    this.#wallLead = wallLead(now(runtime.clock));
  }

  /** From now on, which may be told by a moment that has just been read. */
  watch(watched: Watched, at = now(this.runtime.clock)): void {
    this.#count++;
    this.#place(watched, at);
  }

  unwatch(watched: Watched): void {
    if (!watched.slot) return;
    remove(watched);
    this.#count--;
    if (this.#count === 0) this.#disarm();
  }

  /** To be called when `dueAt` moved; a later time than before costs nothing. */
  rescheduled(watched: Watched, at = now(this.runtime.clock)): void {
    if (!watched.slot || watched.dueAt(at) >= watched.slot.firesAt) return;
    remove(watched);
    this.#place(watched, at);
  }

  #place(watched: Watched, at: Moment): void {
    const dueAt = watched.dueAt(at);
    const index = Math.floor(dueAt / SLOT_MS);
    let slot = this.#slots.get(index);
    if (!slot) this.#slots.set(index, (slot = this.#emptySlot(index)));
    add(watched, slot);
    slot.firesAt = Math.min(slot.firesAt, dueAt);
    if (dueAt < this.#wakesAt) this.#arm(dueAt);
  }

  /** Slots that came to be empty stay, since most are soon used again; now and then they are swept out. */
  #emptySlot(index: number): Slot {
    if (this.#slots.size >= MOST_SLOTS) this.#sweep();
    return newSlot(index);
  }

  #sweep(): void {
    for (const { index, members } of this.#slots.values()) if (members.length === 0) this.#slots.delete(index);
  }

  #arm(firesAt: number): void {
    this.#disarm();
    const monotonic = this.runtime.clock.monotonic();
    const delayMs = Math.min(Math.max(0, Math.ceil(firesAt - monotonic)), LONGEST_SLEEP_MS);
    this.#wakesAt = monotonic + delayMs;
    this.#cancel = this.runtime.timers.start(this.#fire, delayMs);
  }

  #disarm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#wakesAt = Number.POSITIVE_INFINITY;
  }

  readonly #fire = (): void => {
    this.#disarm();
    this.#sweep();
    const at = now(this.runtime.clock);
    this.#followWall(at);
    this.#takeDue(at);
    const due = [...this.#attended.members];
    if (due.length > 0) {
      this.together(() => {
        // One may unwatch another.
        for (const watched of due) if (watched.slot) watched.attend(at);
      });
      const after = now(this.runtime.clock);
      for (const watched of due) {
        if (watched.slot !== this.#attended) continue;
        remove(watched);
        this.#place(watched, after);
      }
    }
    let next = Number.POSITIVE_INFINITY;
    for (const { firesAt } of this.#slots.values()) next = Math.min(next, firesAt);
    const earliest = next <= at.monotonic ? at.monotonic + PACE_MS : next;
    if (this.#count > 0 && earliest < this.#wakesAt) this.#arm(earliest);
  };

  /** All that must not wait, and one batch of what may come early or late, go to those that are attended. */
  #takeDue(at: Moment): void {
    const { monotonic } = at;
    const slots = [...this.#slots.values()].sort((a, b) => a.index - b.index);
    let room = BATCH;
    // Others come early with one that is due, not with a mere look at the clock.
    if (!slots.some((slot) => slot.firesAt <= monotonic && this.#isDue(slot, at))) return;
    for (const slot of slots) {
      if (slot.firesAt > monotonic + LONGEST_SLEEP_MS || (slot.firesAt > monotonic && room === 0)) continue;
      let firesAt = Number.POSITIVE_INFINITY;
      // From the last one on: the place of one that is taken out is filled by one that was looked at.
      for (let place = slot.members.length - 1; place >= 0; place--) {
        const watched = slot.members[place]!;
        const dueAt = watched.dueAt(at);
        const slackMs = watched.slackMs(at);
        if (dueAt - slackMs <= monotonic && (slackMs === 0 || room-- > 0)) {
          remove(watched);
          add(watched, this.#attended);
        } else firesAt = Math.min(firesAt, dueAt);
      }
      room = Math.max(room, 0);
      slot.firesAt = firesAt;
    }
  }

  /** Puts those right that were rescheduled for later: whether anything of the slot is due in earnest. */
  #isDue(slot: Slot, at: Moment): boolean {
    let firesAt = Number.POSITIVE_INFINITY;
    for (let place = slot.members.length - 1; place >= 0; place--) {
      const watched = slot.members[place]!;
      const dueAt = watched.dueAt(at);
      if (Math.floor(dueAt / SLOT_MS) > slot.index) {
        remove(watched);
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
    const all = [...this.#slots.values()].flatMap(({ members }) => members);
    this.#slots.clear();
    for (const watched of all) this.#place(watched, at);
  }
}

function newSlot(index: number): Slot {
  return { index, members: [], firesAt: Number.POSITIVE_INFINITY };
}

function add(watched: Watched, slot: Slot): void {
  watched.slot = slot;
  watched.place = slot.members.push(watched) - 1;
}

function remove(watched: Watched): void {
  const { members } = watched.slot!;
  const last = members.pop()!;
  if (last !== watched) {
    members[watched.place] = last;
    last.place = watched.place;
  }
  watched.slot = undefined;
}

function wallLead({ wall, monotonic }: Moment): number {
  return wall - monotonic;
}
