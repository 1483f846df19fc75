import { describe, expect, it } from '@jest/globals';
import { ManualRuntime } from '../lib/testing/manual-runtime.js';
import { Watchdog, type Slot, type Watched } from '../lib/watchdog.js';

/** Wants attention every `everyMs`, and notes when it got it. */
class Periodic implements Watched {
  at: number;
  slot: Slot | undefined;
  place = 0;
  readonly served: number[] = [];

  constructor(
    private readonly runtime: ManualRuntime,
    private readonly everyMs: number,
    private readonly slack = 0,
  ) {
    this.at = runtime.clock.monotonic() + everyMs;
  }

  dueAt(): number {
    return this.at;
  }

  slackMs(): number {
    return this.slack;
  }

  attend(): void {
    this.served.push(this.runtime.clock.monotonic());
    this.at = this.runtime.clock.monotonic() + this.everyMs;
  }
}

function setUp() {
  const runtime = new ManualRuntime();
  return { runtime, watchdog: new Watchdog(runtime) };
}

describe('Watchdog', () => {
  it('serves what it watches when due, again and again', async () => {
    const { runtime, watchdog } = setUp();
    const watched = new Periodic(runtime, 100);
    watchdog.watch(watched);
    await runtime.advance(350);
    expect(watched.served).toEqual([100, 200, 300]);
  });

  it('follows a wall clock that ran ahead within a second, though it watches a later time', async () => {
    const { runtime, watchdog } = setUp();
    let served = 0;
    const endsAt = runtime.clock.wall() + 60_000;
    const watched: Watched = {
      dueAt: ({ monotonic, wall }) => (served > 0 ? Number.POSITIVE_INFINITY : monotonic + endsAt - wall),
      slackMs: () => 0,
      attend: () => void served++,
      slot: undefined,
      place: 0,
    };
    watchdog.watch(watched);
    await runtime.advance(2500);
    runtime.skewWall(57_400);
    await runtime.advance(600);
    expect(served).toBe(1);
  });

  it('has one timer, however many it watches, and none when there is nothing to watch', async () => {
    const { runtime, watchdog } = setUp();
    expect(runtime.pendingTimers).toBe(0);
    const all = Array.from({ length: 1000 }, (_, index) => new Periodic(runtime, 100 + index));
    for (const watched of all) watchdog.watch(watched);
    expect(runtime.pendingTimers).toBe(1);
    await runtime.advance(500);
    expect(runtime.pendingTimers).toBe(1);
    for (const watched of all) watchdog.unwatch(watched);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('serves in one tick what may come a little early', async () => {
    const { runtime, watchdog } = setUp();
    const first = new Periodic(runtime, 100, 10);
    const soonAfter = new Periodic(runtime, 110, 10);
    const later = new Periodic(runtime, 111, 10);
    for (const watched of [later, soonAfter, first]) watchdog.watch(watched);
    await runtime.advance(100);
    expect(first.served).toEqual([100]);
    expect(soonAfter.served).toEqual([100]);
    expect(later.served).toEqual([]);
  });

  it('serves nothing early that may not come early', async () => {
    const { runtime, watchdog } = setUp();
    const first = new Periodic(runtime, 100);
    const second = new Periodic(runtime, 101);
    watchdog.watch(first);
    watchdog.watch(second);
    await runtime.advance(100);
    expect(second.served).toEqual([]);
    await runtime.advance(1);
    expect(second.served).toEqual([101]);
  });

  it('notices that something is due sooner than before', async () => {
    const { runtime, watchdog } = setUp();
    const watched = new Periodic(runtime, 1000);
    watchdog.watch(watched);
    watched.at = 50;
    watchdog.rescheduled(watched);
    await runtime.advance(50);
    expect(watched.served).toEqual([50]);
    expect(runtime.pendingTimers).toBe(1);
  });

  it('sets no timer for what it no longer watches', async () => {
    const { runtime, watchdog } = setUp();
    const watched = new Periodic(runtime, 100);
    watchdog.watch(watched);
    watchdog.unwatch(watched);
    watchdog.rescheduled(watched);
    expect(runtime.pendingTimers).toBe(0);
    await runtime.advance(1000);
    expect(watched.served).toEqual([]);
  });

  it('sets no timer for what is never due', () => {
    const { runtime, watchdog } = setUp();
    watchdog.watch(new Periodic(runtime, Number.POSITIVE_INFINITY));
    expect(runtime.pendingTimers).toBe(0);
  });

  it('catches up once, not once for each time missed, after the process stood still', async () => {
    const { runtime, watchdog } = setUp();
    const watched = new Periodic(runtime, 100);
    watchdog.watch(watched);
    runtime.pause(1000);
    await runtime.advance(0);
    expect(watched.served).toEqual([1000]);
  });

  it('goes on with the others when one leaves while it is served', async () => {
    const { runtime, watchdog } = setUp();
    const leaving: Watched = {
      dueAt: () => 100,
      slackMs: () => 0,
      attend: () => watchdog.unwatch(leaving),
      slot: undefined,
      place: 0,
    };
    const staying = new Periodic(runtime, 100);
    watchdog.watch(leaving);
    watchdog.watch(staying);
    await runtime.advance(200);
    expect(staying.served).toEqual([100, 200]);
  });

  it('serves many in batches, one after the other, so that those that came together drift apart', async () => {
    const runtime = new ManualRuntime();
    const batches: number[] = [];
    let asked = 0;
    const watchdog = new Watchdog(runtime, (ask) => {
      asked = 0;
      ask();
      batches.push(asked);
    });
    const all = Array.from({ length: 1000 }, () => new Periodic(runtime, 10_000, 1000));
    for (const watched of all) {
      const attend = watched.attend.bind(watched);
      watched.attend = () => {
        asked++;
        attend();
      };
      watchdog.watch(watched);
    }
    await runtime.advance(10_100);
    expect(batches).toEqual([256, 256, 256, 232]);
    expect(all.every(({ served }) => served.length === 1)).toBe(true);
    expect(new Set(all.map(({ served }) => served[0])).size).toBe(4);
  });

  it('fills a batch up with what is due soon, and so asks as seldom as can be', async () => {
    const runtime = new ManualRuntime();
    let batches = 0;
    const watchdog = new Watchdog(runtime, (ask) => {
      batches++;
      ask();
    });
    const all = Array.from({ length: 1000 }, (_, index) => {
      const watched = new Periodic(runtime, 10_000, 1000);
      watched.at += index;
      watchdog.watch(watched);
      return watched;
    });
    await runtime.advance(30_000);
    const served = all.reduce((sum, each) => sum + each.served.length, 0);
    expect(served).toBeGreaterThanOrEqual(2000);
    expect(batches).toBeLessThanOrEqual(served / 200);
  });

  it('lets nothing that must not wait stand behind a batch', async () => {
    const { runtime, watchdog } = setUp();
    for (let made = 0; made < 1000; made++) watchdog.watch(new Periodic(runtime, 100, 10));
    const urgent = new Periodic(runtime, 100);
    watchdog.watch(urgent);
    await runtime.advance(100);
    expect(urgent.served).toEqual([100]);
  });

  it('comes to all of them, whatever was put off until later', async () => {
    const { runtime, watchdog } = setUp();
    const putOff = new Periodic(runtime, 100, 10);
    watchdog.watch(putOff);
    putOff.at = 100_000;
    watchdog.rescheduled(putOff);
    const others = Array.from({ length: 300 }, (_, index) => new Periodic(runtime, 150 + index, 10));
    for (const watched of others) watchdog.watch(watched);
    await runtime.advance(1000);
    expect(putOff.served).toEqual([]);
    expect(others.every(({ served }) => served.length > 0)).toBe(true);
  });

  it('keeps no trace of what came and went', async () => {
    const { runtime, watchdog } = setUp();
    const staying = new Periodic(runtime, 1e9);
    watchdog.watch(staying);
    for (let made = 0; made < 10_000; made++) {
      const passing = new Periodic(runtime, 100 * made);
      watchdog.watch(passing);
      watchdog.unwatch(passing);
    }
    await runtime.advance(2000);
    expect(runtime.pendingTimers).toBe(1);
    expect(staying.served).toEqual([]);
  });
});
