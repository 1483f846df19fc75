/** The package loads, and works on the memory store, where no Redis client is installed. */
const assert = require('node:assert/strict');

for (const peer of ['ioredis', 'iovalkey', 'pg']) {
  assert.throws(() => require.resolve(peer), { code: 'MODULE_NOT_FOUND' }, `${peer} should not be here`);
}
const { LockManager, MemoryStore } = require('nestjs-fenced-lock');
const locks = new LockManager(new MemoryStore());

locks
  .withLock('a', async (lock) => assert.ok(lock.held && lock.fencingToken > 0))
  .then(() => console.log('works without optional packages'));
