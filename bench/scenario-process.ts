/** Runs one scenario. Arguments: its name, a Setting. */
import 'reflect-metadata';
import type { Setting } from './scenario.js';
import { scenarioOf } from './scenarios.js';

const [, , name = '', setting = '{}'] = process.argv;
const table = await scenarioOf(name).run(JSON.parse(setting) as Setting);
process.send!(table);
