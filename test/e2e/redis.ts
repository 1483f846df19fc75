export interface TestRedis {
  readonly url: string;
  stop(): Promise<void>;
}

/** The Redis of `E2E_REDIS_URL`, or one of our own. */
export async function testRedis(): Promise<TestRedis> {
  const url = process.env.E2E_REDIS_URL;
  if (url) return { url, stop: () => Promise.resolve() };
  const { RedisServer } = (await import('../support/redis-server.js')) as {
    RedisServer: { start(): Promise<TestRedis> };
  };
  return RedisServer.start();
}
