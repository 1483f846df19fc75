import 'reflect-metadata';
import { Demonstration } from './demonstration.js';
import { INTERRUPTED, interruption } from './interruption.js';
import { runPod, type PodSettings } from './pods/pod-process.js';
import { readSettings } from './settings.js';

const podSettings = process.env['SAMPLE_POD'];
if (podSettings) await beAPod(JSON.parse(podSettings) as PodSettings);
else process.exitCode = await demonstrate();

/** A process that the demonstration has forked. */
async function beAPod(settings: PodSettings): Promise<void> {
  try {
    await runPod(settings);
  } catch (error) {
    complain(error);
    process.exit(1);
  }
}

async function demonstrate(): Promise<number> {
  const interrupted = interruption();
  try {
    const settings = readSettings(process.argv.slice(2), process.env);
    return (await new Demonstration(settings, interrupted).run()) ? 0 : 1;
  } catch (error) {
    if (interrupted.aborted) return INTERRUPTED;
    complain(error);
    return 1;
  }
}

function complain(error: unknown): void {
  console.error(error instanceof Error ? error.message : error);
}
