import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A reply as it goes over the wire, such as `+OK`; nothing: it leaves the client waiting. */
export type FakeReply = string | undefined;

/** Speaks as much of RESP2 as a client needs to take it for a Redis: for versions and moods that no real server here has. */
export class FakeRedis {
  readonly asked: string[][] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly answer: (args: string[]) => FakeReply,
  ) {
    server.on('connection', (socket) => this.serve(socket));
  }

  static async start(answer: (args: string[]) => FakeReply): Promise<FakeRedis> {
    const fake = new FakeRedis(createServer(), answer);
    fake.server.listen(0, '127.0.0.1');
    await once(fake.server, 'listening');
    return fake;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    let buffer = '';
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
    socket.setEncoding('latin1').on('data', (text: string) => {
      buffer += text;
      for (let parsed = parse(buffer); parsed; parsed = parse(buffer)) {
        buffer = buffer.slice(parsed.length);
        this.asked.push(parsed.args);
        const reply = this.answer(parsed.args);
        if (reply !== undefined) socket.write(`${reply}\r\n`);
      }
    });
  }
}

export function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}`;
}

/** The first whole command of what has come in. */
function parse(buffer: string): { args: string[]; length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(buffer);
  if (!head) return undefined;
  let at = head[0].length;
  const args: string[] = [];
  for (let left = Number(head[1]); left > 0; left--) {
    const size = /^\$(\d+)\r\n/.exec(buffer.slice(at));
    if (!size) return undefined;
    const start = at + size[0].length;
    const end = start + Number(size[1]);
    if (buffer.length < end + 2) return undefined;
    args.push(buffer.slice(start, end));
    at = end + 2;
  }
  return { args, length: at };
}
