const counts = { passed: 0, failed: 0 };

/**
 * Runs one check and counts it; its output is shown only if it fails.
 * @param {string} name
 * @param {() => Promise<unknown>} run
 */
export async function check(name, run) {
  const startedAt = performance.now();
  try {
    await run();
    counts.passed += 1;
  } catch (error) {
    counts.failed += 1;
    console.log(`--- ${name}\n${error.message}`);
    return false;
  } finally {
    console.log(`    ${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${name}`);
  }
  return true;
}

/** Counts the tests of a runner. */
export function countTests(name, passed, failed) {
  counts.passed += passed;
  counts.failed += failed;
  figure(`${name}: ${passed} tests passed, ${failed} failed`);
}

/** What is printed to be read, beside what is checked. */
export function figure(text) {
  console.log(`              ${text}`);
}

export function totals() {
  return { ...counts };
}
