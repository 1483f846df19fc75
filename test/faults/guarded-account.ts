import type { Redis } from 'ioredis';

const WRITE = `
if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) then return 0 end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'value', ARGV[2])
return 1
`;

/** What a lock protects: a value that takes no write with a token lower than one it has seen. */
export class GuardedAccount {
  constructor(
    private readonly redis: Pick<Redis, 'eval' | 'hget'>,
    private readonly name: string,
  ) {}

  /** False: refused, since a later holder has written. */
  async write(token: number, value: string): Promise<boolean> {
    return (await this.redis.eval(WRITE, 1, this.name, String(token), value)) === 1;
  }

  async read(): Promise<string | null> {
    return this.redis.hget(this.name, 'value');
  }
}
