import { Redis } from 'ioredis';

export interface Request {
  readonly lock: string;
  readonly release: boolean;
}

/** Every lock request that one node carried out since the tape began, in its order, as MONITOR tells. */
export class RequestTape {
  readonly requests: Request[] = [];

  private constructor(private readonly monitor: Redis) {
    monitor.on('monitor', (_time: string, [command, _script, keyCount, ...rest]: string[]) => {
      if (/^evalsha$|^eval$/i.test(command ?? '')) this.record(rest.slice(0, Number(keyCount)));
    });
  }

  static async start(port: number): Promise<RequestTape> {
    const redis = new Redis(port, '127.0.0.1');
    const monitor = await redis.monitor();
    redis.disconnect();
    return new RequestTape(monitor);
  }

  disconnect(): void {
    this.monitor.disconnect();
  }

  /** For each request its lock, then what goes with that: for a release the name of its line, too. */
  private record(keys: readonly string[]): void {
    const locks = keys.flatMap((key, index) => (key.endsWith('}') ? [index] : []));
    locks.forEach((index, request) => {
      const release = keys.slice(index, locks[request + 1]).some((key) => key.endsWith('}:free'));
      this.requests.push({ lock: keys[index]!, release });
    });
  }
}
