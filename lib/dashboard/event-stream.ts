import type { ServerResponse } from 'node:http';
import type { Clock } from '../runtime.js';

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  // Compression would hold events back, and so would the buffer of a proxy.
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
  'X-Content-Type-Options': 'nosniff',
};
/** A client that has not read for so long is gone, though its connection is not. */
const LONGEST_STALL_MS = 30_000;

/**
 * Server-sent events to one client, written to the response itself: so interceptors of the application cannot reshape them, and it is known whether the client keeps up.
 */
export class EventStream {
  #stalledAt: number | undefined;

  constructor(
    private readonly response: ServerResponse,
    private readonly clock: Clock,
    closed: () => void,
  ) {
    response.on('close', closed);
    response.on('error', () => undefined); // the client has left; 'close' follows
    response.on('drain', () => (this.#stalledAt = undefined));
    // The socket is of no further use: kept alive, it would hold a shutdown up.
    response.writeHead(200, { ...HEADERS, ...(response.req.httpVersionMajor < 2 ? { Connection: 'close' } : {}) });
    response.flushHeaders();
  }

  get isClosed(): boolean {
    return this.response.writableEnded || this.response.destroyed;
  }

  /** Whether it has read what it was sent. What it misses meanwhile is for the caller to make up for: nothing is queued here. */
  isReady(): boolean {
    if (this.isClosed) return false;
    if (this.#stalledAt === undefined) return true;
    if (this.clock.monotonic() - this.#stalledAt > LONGEST_STALL_MS) this.response.destroy();
    return false;
  }

  send(json: string): void {
    if (!this.response.write(`data: ${json}\n\n`)) this.#stalledAt = this.clock.monotonic();
  }

  end(): void {
    this.response.end();
    // One that does not read would never take the end of it.
    if (this.#stalledAt !== undefined) this.response.destroy();
  }
}
