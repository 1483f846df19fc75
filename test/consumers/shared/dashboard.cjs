/** Prints the page of the dashboard, without what differs from one request to the next. */
require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { DistributedLockModule, MemoryStore } = require('nestjs-fenced-lock');
const { LockDashboardModule } = require('nestjs-fenced-lock/dashboard');

class AppModule {}
Module({
  imports: [
    DistributedLockModule.forRoot({ store: new MemoryStore() }),
    LockDashboardModule.forRoot({ path: '/locks', allowUnguarded: true }),
  ],
})(AppModule);

async function main() {
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  const page = await (await fetch(`${await app.getUrl()}/locks`)).text();
  await app.close();
  console.log(page.replace(/nonce="[^"]*"/g, ''));
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
