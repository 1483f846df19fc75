import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFaketime, findRedisServer } from '../../../scripts/find-servers.mjs';
import { RedisServer } from '../../support/redis-server.js';

/** A Redis whose wall clock can be made to jump. */
export class JumpingRedis {
  private constructor(
    readonly server: RedisServer,
    private readonly folder: string,
  ) {}

  static async start(): Promise<JumpingRedis> {
    const library = findFaketime();
    if (!library) throw new Error('libfaketime was not found: `apt-get install libfaketime`, or set FAKETIME_LIB');
    const folder = await mkdtemp(join(tmpdir(), 'faketime-'));
    await writeFile(join(folder, 'offset'), '+0');
    const wrapper = join(folder, 'redis-server');
    // jemalloc asks for the time before libfaketime is ready for it, so that glibc's own allocator takes its place.
    const settings = [
      `LD_PRELOAD=libc_malloc_debug.so.0:${library}`,
      `FAKETIME_TIMESTAMP_FILE=${join(folder, 'offset')}`,
      ...['FAKETIME_CACHE_DURATION=1', 'FAKETIME_DONT_FAKE_MONOTONIC=1'],
    ];
    await writeFile(wrapper, `#!/bin/sh\nexec env ${settings.join(' ')} ${findRedisServer()} "$@"\n`, { mode: 0o755 });
    const before = process.env['REDIS_SERVER_BIN'];
    process.env['REDIS_SERVER_BIN'] = wrapper;
    try {
      return new JumpingRedis(await RedisServer.start(), folder);
    } finally {
      if (before === undefined) delete process.env['REDIS_SERVER_BIN'];
      else process.env['REDIS_SERVER_BIN'] = before;
    }
  }

  /** Takes effect within a second. */
  async jump(seconds: number): Promise<void> {
    await writeFile(join(this.folder, 'offset'), `+${seconds}`);
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
