import { startRedisNodes, stopAll, type RedisServer } from '../../test/support/redis-server.js';
import { TcpProxy } from '../../test/support/tcp-proxy.js';

/** What befalls one node of three. */
export type Fault = 'dead' | 'hung' | 'slow';

const SLOW_MS = 200;

/** Three fresh nodes, to the last of which something happens. */
export class Trio {
  private constructor(
    private readonly servers: readonly RedisServer[],
    /** The way to the last one. */
    private readonly proxy: TcpProxy | undefined,
  ) {}

  static async start(fault: Fault): Promise<Trio> {
    const servers = await startRedisNodes(3);
    // Only where it is needed: it takes its part of the machine.
    return new Trio(servers, fault === 'slow' ? await TcpProxy.start(servers[2]!.port) : undefined);
  }

  get urls(): string[] {
    const urls = this.servers.map(({ url }) => url);
    return this.proxy ? [...urls.slice(0, 2), this.proxy.url()] : urls;
  }

  async befall(fault: Fault): Promise<void> {
    const [, , node] = this.servers;
    if (fault === 'dead') await node!.kill();
    else if (fault === 'hung') node!.freeze();
    else this.proxy!.delay(SLOW_MS);
  }

  async stop(): Promise<void> {
    await this.proxy?.close();
    await stopAll([...this.servers]);
  }
}
