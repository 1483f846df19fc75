import { Redis } from 'ioredis';
import { KEY_MARK } from './keeper.js';

/** What is needed of the server's statistics: all keepers renew by scripts. What these call, it counts as well. */
const SCRIPTS = /cmdstat_(?:eval|evalsha):calls=(\d+)/g;

/** What the server knows of the locks on it, whoever keeps them. */
export class ServerView {
  #extensions = 0;

  private constructor(
    private readonly redis: Redis,
    private readonly listener: Redis,
  ) {
    listener.on('pmessage', (_pattern: string, channel: string, event: string) => {
      if (event === 'expire' && !isFence(channel)) this.#extensions++;
    });
  }

  static async open(url: string): Promise<ServerView> {
    const redis = new Redis(url);
    await redis.config('SET', 'notify-keyspace-events', 'Kg');
    const view = new ServerView(redis, redis.duplicate());
    await view.listener.psubscribe(`__keyspace@0__:*${KEY_MARK}*`);
    return view;
  }

  /** How often locks were given a new time to live, and by how many scripts, up to now. */
  async count(): Promise<{ readonly extensions: number; readonly scripts: number }> {
    const statistics = await this.redis.info('commandstats');
    const scripts = [...statistics.matchAll(SCRIPTS)].reduce((sum, [, calls]) => sum + Number(calls), 0);
    return { extensions: this.#extensions, scripts };
  }

  /** How many locks there are. */
  async locks(): Promise<number> {
    return (await this.redis.keys(`*${KEY_MARK}*`)).filter((name) => !isFence(name)).length;
  }

  close(): void {
    this.redis.disconnect();
    this.listener.disconnect();
  }
}

/** Ours has a second key for each lock. */
function isFence(name: string): boolean {
  return name.endsWith(':fence');
}
