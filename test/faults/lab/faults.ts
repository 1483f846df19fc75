import type { Fault } from './fault.js';
import { HARMLESS_FAULTS } from './faults/harmless.js';
import { HOLDER_FAULTS } from './faults/holder.js';
import { MEMORY_FAULTS } from './faults/memory.js';
import { NODE_FAULTS } from './faults/nodes.js';
import { POSTGRES_FAULTS } from './faults/postgres.js';

export const FAULTS: readonly Fault[] = [
  ...HOLDER_FAULTS,
  ...NODE_FAULTS,
  ...MEMORY_FAULTS,
  ...HARMLESS_FAULTS,
  ...POSTGRES_FAULTS,
];

export function faultOf(id: string): Fault {
  const found = FAULTS.find((fault) => fault.id === id);
  if (!found) throw new Error(`no fault is called ${id}; known are ${FAULTS.map((one) => one.id).join(', ')}`);
  return found;
}
