import { createRequire } from 'node:module';
import { TTL_MS, type Locker, type LockerOptions } from '../locker.js';
import { FOR_EVER, pace, peer, require } from './peer.js';

/** It polls as often as it is told to; this is what its README tells it. */
const OWN_PACE = { wait: 1000 };

/** In a Nest of its own, beside the one of the module under test. */
async function open(options: LockerOptions): Promise<Pick<Locker, 'lock' | 'close'>> {
  const { urls, waits } = options;
  if (urls.length > 1) throw new Error('it locks on one Redis only');
  const itsOwn = createRequire(require.resolve('murlock'));
  itsOwn('reflect-metadata');
  const { NestFactory } = itsOwn('@nestjs/core');
  const { MurLockModule, MurLockService } = require('murlock');
  const module = MurLockModule.forRoot({
    redisOptions: { url: urls[0] },
    ...OWN_PACE,
    ...pace(options, (ms) => ({ wait: ms })),
    maxAttempts: waits ? FOR_EVER : 1,
    // 'none' would log everything.
    logLevel: 'error',
    blocking: waits,
  });
  const app = await NestFactory.createApplicationContext(module, { logger: false });
  const service = app.get(MurLockService);
  const nothing = async (): Promise<void> => undefined;
  return {
    lock: (key, work = nothing) => service.runWithLock(key, TTL_MS, work),
    close: () => app.close(),
  };
}

export const murlock = peer('murlock', 'murlock 4.4.0', open, { usesContext: true });
