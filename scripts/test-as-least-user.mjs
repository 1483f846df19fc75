/** Runs the tests that lock on servers of their own once more, with locks as the user that docs/redis.md describes. Arguments go to jest. */
import { spawnSync } from 'node:child_process';

const files = [
  'test/stores/redis/(free-channel|handing-on|looking)',
  'test/faults/(amnesia|outage|release-race|split-votes|traces)',
  'test/e2e/(http|module|providers|schedule|shutdown)',
];
const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
const run = spawnSync(
  process.execPath,
  [...jest, ...files.map((file) => `${file}.*\\.spec\\.ts$`), ...process.argv.slice(2)],
  {
    stdio: 'inherit',
    env: { ...process.env, LOCKS_USER: 'least' },
  },
);
process.exitCode = run.status ?? 1;
