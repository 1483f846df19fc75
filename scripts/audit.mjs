/**
 * Asks the registry whether what is installed with this package is known to be unsafe, and fails if so. Not every registry can be asked, a mirror or none for one: that is said, and
 * fails nothing, since it says nothing about the packages.
 */
import { spawnSync } from 'node:child_process';

const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { encoding: 'utf8' });
const answer = parse(stdout);

if (answer?.vulnerabilities !== undefined) {
  const found = Object.values(answer.vulnerabilities);
  for (const { name, severity } of found) console.error(`audit: ${name}: ${severity}`);
  console.log(
    `audit: ${found.length} of ${answer.metadata?.dependencies?.prod ?? 'all'} packages are known to be unsafe`,
  );
  process.exitCode = found.length > 0 ? 1 : 0;
} else if (answer?.message !== undefined) {
  console.log(`audit: not done, the registry cannot be asked (${answer.message})`);
} else {
  console.error(`audit: npm failed: ${answer?.error?.summary ?? stdout}`);
  process.exitCode = 1;
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
