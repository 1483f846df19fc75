/** One contender alone. Argument: a GuestOrder. */
import 'reflect-metadata';
import { openProven } from './entrant.js';
import { entrantOf } from './entrants.js';
import type { Greeting, GuestOrder } from './guest.js';
import { onKeysOf } from './locker.js';
import { planned } from './turns.js';

const { id, options, plan } = JSON.parse(process.argv[2]!) as GuestOrder;
const say = (greeting: Greeting): void => void process.send!(greeting);

try {
  const locker = await openProven(entrantOf(id), options);
  const turn = planned(plan, onKeysOf(locker));
  process.on('message', () => void turn().then((taken) => process.send!(taken)));
  process.once('SIGTERM', () => void locker.close().then(() => process.exit(0)));
  say({ name: locker.name, role: locker.role });
} catch (error) {
  say({ refusal: error instanceof Error ? error.message : String(error) });
}
