/**
 * Makes sure that the real servers the tests run against are there; fails loudly when they cannot be had. With `--browser` also Chromium, with `--clocks` also what makes a
 * server's clock jump.
 */
import { ensureServer } from './install-servers.mjs';

try {
  ensureServer('redis-server', { onSystem: true });
  ensureServer('PostgreSQL', { onSystem: true });
  ensureServer('pgbouncer', { onSystem: true });
  if (process.argv.includes('--browser')) ensureServer('chromium', { onSystem: true });
  if (process.argv.includes('--clocks')) ensureServer('libfaketime', { onSystem: true });
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
