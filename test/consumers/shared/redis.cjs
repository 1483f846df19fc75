/** Two pods on one Redis, each through the client that is installed here: one gets in, the other is told; then the other gets in, with a higher token. */
require('reflect-metadata');
const assert = require('node:assert/strict');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { DistributedLockModule, LockManager } = require('nestjs-fenced-lock');

function pod() {
  class Pod {}
  Module({ imports: [DistributedLockModule.forRoot({ nodes: [process.env.REDIS_URL] })] })(Pod);
  return NestFactory.createApplicationContext(Pod, { logger: ['error', 'warn'] });
}

async function main() {
  const pods = await Promise.all([pod(), pod()]);
  const [first, second] = pods.map((app) => app.get(LockManager));
  const lock = await first.acquire('a');
  await assert.rejects(second.acquire('a'), { name: 'LockBusyError', code: 'LOCK_BUSY' });
  const waiting = second.acquire('a', { wait: '10s' });
  await lock.release();
  const later = await waiting;
  assert.ok(later.fencingToken > lock.fencingToken);
  await later.release();
  await Promise.all(pods.map((app) => app.close()));
  console.log(`locks on Redis, ioredis ${require('ioredis/package.json').version}`);
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
