import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

const MARK = 'counted';

/**
 * Counts what clients send to a Redis. The server's own counters also count what scripts call; MONITOR tells the two apart, but slows the server, so nothing may be timed
 * meanwhile.
 */
export class CommandCount {
  #commands = 0;
  readonly #marked: Promise<void>;

  private constructor(
    private readonly url: string,
    private readonly monitor: Socket,
  ) {
    this.#marked = new Promise((resolve) => {
      createInterface(monitor).on('line', (line) => {
        if (line.includes(`"${MARK}"`)) resolve();
        else if (/^\+[\d.]+ \[\d+ (?!lua)/.test(line)) this.#commands++;
      });
    });
  }

  static async start(url: string): Promise<CommandCount> {
    const monitor = await open(url, 'MONITOR');
    await once(monitor, 'readable');
    return new CommandCount(url, monitor);
  }

  /** How many there were since the start. */
  async stop(): Promise<number> {
    // What was sent before this has been told once this is.
    const marker = await open(this.url, `ECHO ${MARK}`);
    await this.#marked;
    marker.destroy();
    this.monitor.destroy();
    return this.#commands;
  }
}

async function open(url: string, command: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(`${command}\r\n`);
  return socket;
}
