import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { clearTimeout, setTimeout } from 'node:timers';
import { freePort } from './free-port.js';
import { ProxiedConnection } from './proxied-connection.js';
import type { LaneName, LaneSetting } from './proxy-lane.js';

interface Watch {
  lane: LaneName;
  pattern: string | RegExp;
  seen: WeakMap<ProxiedConnection, string>;
  found: () => void;
}

export interface BlackholeOptions {
  /** Which way to forward nothing. Default: both. `'replies'` alone: the server executes, the client hears nothing. */
  lane?: LaneName | 'both';
  /**
   * What happens to the swallowed bytes. Default false: they are kept and arrive after `pass()`, as TCP re-sends them.
   * True: they are lost; a connection that lost bytes is destroyed at `pass()`, since TCP never loses any within one.
   */
  drop?: boolean;
}

/** A network between a client and a server on loopback that can be slow, silent or cut. */
export class TcpProxy {
  private readonly connections = new Set<ProxiedConnection>();
  private readonly watches = new Set<Watch>();
  private readonly setting: Record<LaneName, LaneSetting> = { requests: {}, replies: {} };
  private server: Server | undefined;

  private constructor(
    readonly port: number,
    private readonly targetPort: number,
  ) {}

  static async start(targetPort: number): Promise<TcpProxy> {
    for (let attemptsLeft = 5; ; attemptsLeft--) {
      const proxy = new TcpProxy(await freePort(), targetPort);
      try {
        await proxy.listen();
        return proxy;
      } catch (error) {
        if (attemptsLeft === 0) throw error;
      }
    }
  }

  url(scheme = 'redis'): string {
    return `${scheme}://127.0.0.1:${this.port}`;
  }

  /** How many clients are connected. */
  get size(): number {
    return this.connections.size;
  }

  /** Back to a healthy network: no delay, kept bytes arrive, connections are accepted. */
  async pass(): Promise<void> {
    this.set('requests', {});
    this.set('replies', {});
    if (!this.server) await this.listen();
  }

  /** Every reply takes between these times from now on; the order of a connection's bytes is kept. */
  delay(minMs: number, maxMs = minMs, random: () => number = Math.random): void {
    this.set('replies', { delayMs: () => minMs + random() * (maxMs - minMs) });
  }

  /** As `delay`, for what the client sends. */
  delayRequests(minMs: number, maxMs = minMs, random: () => number = Math.random): void {
    this.set('requests', { delayMs: () => minMs + random() * (maxMs - minMs) });
  }

  /** Connections stay and new ones are accepted, but nothing is forwarded, not even their end. */
  blackhole({ lane = 'both', drop = false }: BlackholeOptions = {}): void {
    if (lane !== 'replies') this.set('requests', { blocked: drop ? 'drop' : 'keep' });
    if (lane !== 'requests') this.set('replies', { blocked: drop ? 'drop' : 'keep' });
  }

  /** Destroys all connections and refuses new ones until `pass()`. */
  cut(): void {
    this.server?.close();
    this.server = undefined;
    this.connections.forEach((connection) => connection.destroy());
  }

  /** Resets (RST) the present connections; new ones are served as before. */
  reset(): void {
    this.connections.forEach((connection) => connection.reset());
  }

  async close(): Promise<void> {
    const closed = this.server && once(this.server, 'close');
    this.cut();
    await closed;
  }

  /** Resolves when a client's bytes that match have come in after this call, forwarded or not. */
  received(pattern: string | RegExp, timeoutMs?: number): Promise<void> {
    return this.watch('requests', pattern, timeoutMs);
  }

  /** Resolves when the server's bytes that match have come in after this call, forwarded or not. */
  replied(pattern: string | RegExp, timeoutMs?: number): Promise<void> {
    return this.watch('replies', pattern, timeoutMs);
  }

  private set(lane: LaneName, setting: LaneSetting): void {
    this.setting[lane] = setting;
    this.connections.forEach((connection) => connection.apply(lane, setting));
  }

  private async listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.serve(client));
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.server = server;
  }

  private serve(client: Socket): void {
    const connection = new ProxiedConnection(client, this.targetPort, this.setting, {
      heard: (lane, bytes) => this.match(connection, lane, bytes),
      closed: () => this.connections.delete(connection),
    });
    this.connections.add(connection);
  }

  private match(connection: ProxiedConnection, lane: LaneName, bytes: Buffer): void {
    for (const watch of this.watches) {
      if (watch.lane !== lane) continue;
      // a pattern may be split over two chunks
      const text = ((watch.seen.get(connection) ?? '') + bytes.toString('latin1')).slice(-65_536);
      watch.seen.set(connection, text);
      if (typeof watch.pattern === 'string' ? text.includes(watch.pattern) : watch.pattern.test(text)) watch.found();
    }
  }

  private watch(lane: LaneName, pattern: string | RegExp, timeoutMs = 20_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const watch: Watch = {
        lane,
        pattern,
        seen: new WeakMap(),
        found: () => {
          clearTimeout(timer);
          this.watches.delete(watch);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.watches.delete(watch);
        reject(new Error(`No ${lane} matching ${String(pattern)} came through the proxy within ${timeoutMs} ms`));
      }, timeoutMs);
      this.watches.add(watch);
    });
  }
}
