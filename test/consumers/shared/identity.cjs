/** require() and import() must hand out one copy: two would mean two sets of classes and of held locks. */
const assert = require('node:assert/strict');

async function main() {
  for (const entry of [
    'nestjs-fenced-lock',
    'nestjs-fenced-lock/postgres',
    'nestjs-fenced-lock/dashboard',
    'nestjs-fenced-lock/testing',
  ]) {
    const required = require(entry);
    const imported = await import(entry);
    const names = Object.keys(required).filter((name) => name !== 'default' && name !== '__esModule');
    assert.ok(names.length > 0, `${entry} exports nothing`);
    for (const name of names) assert.equal(required[name], imported[name], `${entry}: two copies of ${name}`);
  }
  assert.equal(require('nestjs-fenced-lock').LockManager.name, 'LockManager');
  assert.equal(require('nestjs-fenced-lock/package.json').name, 'nestjs-fenced-lock');
  console.log('one copy for require and import');
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
