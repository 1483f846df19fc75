/** The package loads, and works on the memory store, where no optional package is installed: no Redis client, and nothing that is told of locks. */
require('reflect-metadata');
const assert = require('node:assert/strict');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { DistributedLockModule, LockManager, MemoryStore } = require('nestjs-fenced-lock');

for (const peer of ['ioredis', 'iovalkey', 'pg', '@opentelemetry/api', '@nestjs/terminus']) {
  assert.throws(() => require.resolve(peer), { code: 'MODULE_NOT_FOUND' }, `${peer} should not be here`);
}

class AppModule {}
Module({ imports: [DistributedLockModule.forRoot({ store: new MemoryStore(), telemetry: true })] })(AppModule);

async function main() {
  const warnings = [];
  const logger = { log() {}, error() {}, warn: (message) => warnings.push(message) };
  const app = await NestFactory.createApplicationContext(AppModule, { logger });
  await app.get(LockManager).withLock('a', async (lock) => assert.ok(lock.held && lock.fencingToken > 0));
  assert.deepEqual(warnings, ['telemetry is on, but @opentelemetry/api is not installed']);
  await app.close();
  console.log('works without optional packages');
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
