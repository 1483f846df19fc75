import { Crowd } from './crowd.js';
import { BARE_PAIR, OURS } from './entrants.js';
import { measure } from './measure.js';
import { PEERS } from './peers.js';
import { scaled } from './scale.js';
import type { Setting } from './scenario.js';
import type { Table } from './table.js';

const CALLERS = 50;
const PROCESSES = 3;
const CALLERS_OF_EACH = 5;
const LOCKS_OF_EACH = 4;

export async function oneProcess(setting: Setting): Promise<Table> {
  const title = `1 node, ${CALLERS} callers of one process wait for one key`;
  return contended(setting, title, 1, scaled(CALLERS, setting), 1);
}

export async function severalProcesses(setting: Setting): Promise<Table> {
  const title = `1 node, ${PROCESSES} processes of ${CALLERS_OF_EACH} callers wait for one key`;
  return contended(setting, title, PROCESSES, scaled(CALLERS_OF_EACH, setting), scaled(LOCKS_OF_EACH, setting));
}

async function contended(
  setting: Setting,
  title: string,
  processes: number,
  waiters: number,
  locks: number,
): Promise<Table> {
  const plain = [BARE_PAIR, OURS, ...PEERS.filter(({ usesContext }) => !usesContext)];
  const slowing = PEERS.filter(({ usesContext }) => usesContext);
  const crowds: Crowd[] = [];
  try {
    for (const entrants of [plain, slowing]) {
      const ids = entrants.map(({ id }) => id);
      crowds.push(await Crowd.start(processes, ids, setting.urls));
    }
    return await measure(
      {
        title,
        operation: 'waiting for, taking, holding for about 1 ms, and giving back one lock',
        rounds: 10,
        warmUp: 2,
        ratioOf: 'turn',
        contenders: [crowds[0]!.floor(waiters, locks), ...crowds.flatMap((crowd) => crowd.contenders(waiters, locks))],
        columns: ['ratio', 'ratioQuartiles', 'medianUs', 'p95Us', 'perSecond'],
        leftOut: crowds.flatMap(({ leftOut }) => leftOut),
      },
      setting,
    );
  } finally {
    await Promise.all(crowds.map((crowd) => crowd.stop()));
  }
}
