import { LockError, LockOptionsError, LockUnavailableError } from '../errors.js';
import type { LockManager } from '../lock-manager.js';
import { podName } from '../owner.js';
import { systemRuntime, type Runtime } from '../runtime.js';
import type { StoreHealth } from '../stores/store-health.js';
import type { ServerResponse } from 'node:http';
import { HoldHistory } from './hold-history.js';
import { readLocks } from './lock-snapshot.js';
import { holderId, LockTable } from './lock-table.js';
import { ProcessFigures } from './process-figures.js';
import { watchProcess } from './process-watch.js';
import type { About, Update } from './protocol.js';
import type { ReleaseOrder } from './release-request.js';
import { Viewers, type Compose } from './viewers.js';

export interface LockBoardOptions {
  /** Whether the page offers to release locks. */
  readonly release: boolean;
  /** Where what went wrong is told to those who run the application. */
  readonly log: (message: string) => void;
}

/** `moved`: somebody else holds it by now, and keeps it. */
export type ReleaseOutcome = 'released' | 'free' | 'moved';

const LEAST_PAUSE_MS = 1000;
/** Reading takes a fifth of the time at most, however many locks there are. */
const PAUSE_PER_READING = 4;
/** Those who watch take longer silence for a broken stream. */
const MOST_PAUSE_MS = 20_000;
const HEALTH_EVERY_MS = 3000;
/** After a reading that failed. It took as long as the store may take to answer. */
const TROUBLE_PAUSE_MS = 2000;

/** What the dashboard shows, kept up to date while anybody looks. One reading of the locks serves all who watch. */
export class LockBoard {
  readonly #viewers: Viewers;
  readonly #history = new HoldHistory();
  readonly #figures = new ProcessFigures();
  readonly #about: About;
  readonly #stopWatching: () => void;
  #table = new LockTable(this.#history);
  #reading: Pick<Update, 'truncated' | 'readMs' | 'readAt' | 'trouble'> | undefined;
  #isReading = false;
  #isChecking = false;
  #cancelNext: (() => void) | undefined;
  #health: StoreHealth | undefined;
  #healthVersion = 0;
  #healthDueAt = 0;
  #isClosed = false;

  constructor(
    private readonly locks: LockManager,
    private readonly options: LockBoardOptions,
    private readonly runtime: Runtime = systemRuntime,
  ) {
    const { clock } = runtime;
    const self = { pod: podName(), pid: process.pid };
    this.#viewers = new Viewers(clock);
    this.#about = { manager: locks.name, ...self, release: options.release };
    const watched = { figures: this.#figures, history: this.#history, clock, self };
    this.#stopWatching = watchProcess(locks, { ...watched, changed: () => this.#recheck() });
  }

  /** Whether one more may watch. */
  get isOpen(): boolean {
    return !this.#isClosed && !this.#viewers.isFull;
  }

  /** Sends what there is to see to this client, until it leaves. */
  watch(response: ServerResponse): void {
    this.#viewers.add(response);
    if (this.#reading) this.#tell();
    if (!this.#isReading && !this.#cancelNext) void this.#read();
  }

  /** @throws what `forceRelease` and `inspect` throw. */
  async release({ key, id }: ReleaseOrder): Promise<ReleaseOutcome> {
    const { locked, owner, fencingToken } = await this.locks.inspect(key);
    const holder = holderId(owner ?? String(fencingToken));
    if (locked && id !== undefined && holder !== id) return 'moved';
    const isReleased = await this.locks.forceRelease(key);
    if (isReleased) this.#table.force(key, holder, this.runtime.clock.wall());
    if (this.#cancelNext) this.#readIn(0); // or it is being read, and will be again in a moment
    return isReleased ? 'released' : 'free';
  }

  /** Ends every stream, and takes no more. */
  close(): void {
    this.#isClosed = true;
    this.#stopWatching();
    this.#cancelNext?.();
    this.#viewers.end();
  }

  async #read(): Promise<void> {
    this.#cancelNext = undefined;
    if (!this.#viewers.any || this.#isClosed) return this.#forget();
    const { clock } = this.runtime;
    const startedAt = clock.monotonic();
    this.#isReading = true;
    if (startedAt >= this.#healthDueAt) void this.#check();
    try {
      const snapshot = await readLocks(this.locks, clock);
      const { truncated, readMs } = snapshot;
      const readAt = clock.wall();
      this.#table.take(snapshot, readAt);
      this.#reading = { truncated, readMs, readAt };
    } catch (error) {
      const { truncated = false, readMs = 0, readAt = 0 } = this.#reading ?? {};
      if (this.#reading?.trouble === undefined) this.options.log(`The locks could not be read: ${String(error)}`);
      this.#reading = { truncated, readMs, readAt, trouble: reasonOf(error) };
    } finally {
      this.#isReading = false;
    }
    this.#tell();
    const tookMs = PAUSE_PER_READING * (clock.monotonic() - startedAt);
    const pauseMs = Math.max(LEAST_PAUSE_MS, Math.min(tookMs, MOST_PAUSE_MS));
    this.#readIn(this.#reading.trouble === undefined ? pauseMs : TROUBLE_PAUSE_MS);
  }

  #readIn(ms: number): void {
    this.#cancelNext?.();
    this.#cancelNext = this.#isClosed ? undefined : this.runtime.timers.start(() => void this.#read(), ms);
  }

  /** Nobody watches: what the next one is to see is read anew. */
  #forget(): void {
    this.#reading = undefined;
    this.#table = new LockTable(this.#history);
  }

  /** A node went or came, or another store decides. */
  #recheck(): void {
    this.#healthDueAt = 0;
    if (this.#viewers.any && !this.#isClosed) void this.#check();
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    this.#healthDueAt = this.runtime.clock.monotonic() + HEALTH_EVERY_MS;
    try {
      this.#health = await this.locks.health();
      this.#healthVersion++;
      if (this.#reading) this.#tell();
    } catch (error) {
      this.options.log(`The health of the store could not be read: ${String(error)}`);
    } finally {
      this.#isChecking = false;
    }
  }

  #tell(): void {
    if (!this.#isClosed) this.#viewers.tell(this.#compose);
  }

  readonly #compose: Compose = (from) => {
    const now = this.runtime.clock.wall();
    const to = {
      table: this.#table.version,
      holds: this.#history.number,
      figures: this.#figures.versionAt(now),
      health: this.#healthVersion,
    };
    const update: Update = {
      now,
      ...(from.table === undefined ? { about: this.#about } : {}),
      ...this.#table.changesSince(from.table),
      ...this.#reading!,
      holds: this.#history.since(from.holds),
      ...(from.figures === to.figures ? {} : { figures: this.#figures.at(now) }),
      ...(from.health === to.health || !this.#health ? {} : { health: this.#health }),
    };
    return { json: JSON.stringify(update), to };
  };
}

/** For operators, who are to know which node it is; of what is not this module's own error nothing is shown, but in the log. */
function reasonOf(error: unknown): string {
  if (error instanceof LockOptionsError || error instanceof LockUnavailableError) return error.message;
  return error instanceof LockError ? error.code : 'see the log of this process';
}
