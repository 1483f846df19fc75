import { Redis } from 'ioredis';

export interface Request {
  readonly lock: string;
  readonly verb: string;
  readonly owner: string;
}

/** Every lock request that one node carried out since the tape began, in its order, as MONITOR tells. */
export class RequestTape {
  readonly requests: Request[] = [];

  private constructor(private readonly monitor: Redis) {
    monitor.on('monitor', (_time: string, [command, _script, keyCount, ...rest]: string[]) => {
      if (/^evalsha$|^eval$/i.test(command ?? '')) this.record(Number(keyCount), rest);
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

  /** Two keys and four arguments for each request, after the two settings (and, with a quarantine, the marker). */
  private record(keyCount: number, rest: readonly string[]): void {
    const keys = rest.slice(keyCount % 2, keyCount);
    const args = rest.slice(keyCount + 2);
    for (let index = 0; index * 2 < keys.length; index++) {
      const [verb, owner] = args.slice(index * 4) as [string, string];
      this.requests.push({ lock: keys[index * 2]!, verb, owner });
    }
  }
}
