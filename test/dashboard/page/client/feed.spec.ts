import { beforeEach, describe, expect, it } from '@jest/globals';
import { createFeed } from '../../../../lib/dashboard/page/client/feed.js';
import type { PageWindow } from '../../../../lib/dashboard/page/client/dom-types.js';
import { ManualRuntime } from 'nestjs-fenced-lock/testing';

class FakeSource {
  static opened: FakeSource[] = [];
  onmessage: ((event: { data: string }) => void) | null = null;
  onerror: (() => void) | null = null;
  readyState = 1;

  constructor(readonly url: string) {
    FakeSource.opened.push(this);
  }

  close(): void {
    this.readyState = 2;
  }

  /** The server answered with an error, which a browser does not try again. */
  refuse(): void {
    this.readyState = 2;
    this.onerror!();
  }
}

let runtime: ManualRuntime;
let statuses: string[];
let updates: unknown[];
let page: { hidden: boolean; changed(): void };

beforeEach(() => {
  runtime = new ManualRuntime();
  FakeSource.opened = [];
  [statuses, updates] = [[], []];
  const cancels = new Map<number, () => void>();
  page = { hidden: false, changed: () => undefined };
  const window = {
    document: {
      get hidden() {
        return page.hidden;
      },
      addEventListener: (_: string, listener: () => void) => (page.changed = listener),
    },
    EventSource: FakeSource,
    setTimeout: (callback: () => void, ms: number) => {
      cancels.set(cancels.size + 1, runtime.timers.start(callback, ms));
      return cancels.size;
    },
    clearTimeout: (timer: number) => cancels.get(timer)?.(),
  } as unknown as PageWindow;
  createFeed(
    window,
    '/api/locks',
    (update) => updates.push(update),
    (status) => statuses.push(status),
  ).start();
});

const latest = (): FakeSource => FakeSource.opened.at(-1)!;

describe('The feed of the page', () => {
  it('comes from beside the page', () => {
    expect(latest().url).toBe('/api/locks/events');
    latest().onmessage!({ data: '{"now":1}' });
    expect([updates, statuses]).toEqual([[{ now: 1 }], ['live']]);
  });

  it('is opened again when the server refuses, and what an old one says is not heard', async () => {
    const first = latest();
    first.refuse();
    expect(statuses).toEqual(['lost']);
    await runtime.advance(2000);
    expect(FakeSource.opened).toHaveLength(2);
    first.onmessage!({ data: '{}' });
    first.onerror!();
    expect([updates, statuses]).toEqual([[], ['lost']]);
  });

  it('is left to the browser when it breaks', async () => {
    latest().onerror!();
    expect(statuses).toEqual(['lost']);
    await runtime.advance(5000);
    expect(FakeSource.opened).toHaveLength(1);
  });

  it('is opened again when it falls silent', async () => {
    latest().onmessage!({ data: '{}' });
    await runtime.advance(44_999);
    expect(FakeSource.opened).toHaveLength(1);
    await runtime.advance(2001);
    expect(FakeSource.opened).toHaveLength(2);
    expect(FakeSource.opened[0]!.readyState).toBe(2);
  });

  it('rests while nobody sees the page', async () => {
    page.hidden = true;
    page.changed();
    await runtime.advance(29_999);
    expect(latest().readyState).toBe(1);
    await runtime.advance(1);
    expect([latest().readyState, statuses]).toEqual([2, ['paused']]);
    await runtime.advance(600_000);
    expect(FakeSource.opened).toHaveLength(1);
    page.hidden = false;
    page.changed();
    expect(FakeSource.opened).toHaveLength(2);
  });

  it('goes on when the page is only away for a moment', async () => {
    page.hidden = true;
    page.changed();
    await runtime.advance(10_000);
    page.hidden = false;
    page.changed();
    latest().onmessage!({ data: '{}' });
    await runtime.advance(40_000);
    expect(FakeSource.opened).toHaveLength(1);
  });
});
