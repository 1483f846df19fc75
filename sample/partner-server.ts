import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Errand } from './shop/partners.js';

/** Lets the pod that asked go on. */
export type Answer = () => void;

/** What is done when a pod asks; `token` is the one it showed. */
type Handler = (answer: Answer, token: number) => void;

/**
 * The rest of the world: the bank, the auditor … It answers when the act on stage says so, which is how the acts make things
 * overlap for certain instead of sleeping and hoping.
 */
export class PartnerServer {
  private readonly handlers = new Map<string, Handler>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<PartnerServer> {
    const server = createServer();
    const partners = new PartnerServer(server);
    server.on('request', (request, response) => {
      const answer: Answer = () => void response.writeHead(204).end();
      const { pathname, searchParams } = new URL(request.url ?? '/', partners.url);
      const handle = partners.handlers.get(decodeURIComponent(pathname.slice(1)));
      if (handle) handle(answer, Number(searchParams.get('token')));
      else answer();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return partners;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** What is to happen when a pod asks for this from now on. An errand that nobody handles is done at once. */
  on(errand: Errand, handle: Handler): void {
    this.handlers.set(errand, handle);
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}
