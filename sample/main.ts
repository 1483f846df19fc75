import 'reflect-metadata';
import { Demonstration } from './demonstration.js';
import { INTERRUPTED, interruption } from './interruption.js';
import { runPod, type PodSettings } from './pods/pod-process.js';
import { readSettings } from './settings.js';

const podSettings = process.env['SAMPLE_POD'];
if (podSettings) {
  await runPod(JSON.parse(podSettings) as PodSettings);
} else {
  const interrupted = interruption();
  try {
    const demonstration = new Demonstration(readSettings(process.argv.slice(2), process.env), interrupted);
    process.exitCode = (await demonstration.run()) ? 0 : 1;
  } catch (error) {
    process.exitCode = interrupted.aborted ? INTERRUPTED : 1;
    if (!interrupted.aborted) console.error(error instanceof Error ? error.message : error);
  }
}
