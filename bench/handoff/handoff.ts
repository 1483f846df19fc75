import { quantile } from '../measure.js';
import { rounds } from '../scale.js';
import type { Setting } from '../scenario.js';
import type { Figure, Role, Row, Table } from '../table.js';
import { CommandCount } from './command-count.js';
import { HandoffCrowd } from './crowd.js';
import { HANDOFF_ENTRANTS } from './entrants.js';
import type { Use } from './use.js';

interface Turn {
  readonly perSecond: number;
  readonly gapMs: number;
  readonly fairness: number;
}

interface Contender {
  readonly name: string;
  readonly role: Role;
  readonly crowd: HandoffCrowd;
  readonly turns: Turn[];
  /** Hand-offs per second where the key is given back at once. */
  readonly atOnce: number[];
  commands: number;
}

const TURN_MS = 1000;
const COUNTED_MS = 500;
/** Each of several processes sees some thousand grants by then: before that most of what is measured is how fast code is compiled. */
const WARM_UP_MS = 3000;
const SHORTEST_MS = 50;
const ROUNDS = 5;

/** `callers` in `processes` processes want one key of one node, again and again. */
export async function handoff(setting: Setting, processes: number, callers: number): Promise<Table> {
  const [url = ''] = setting.urls;
  const turnMs = Math.max(SHORTEST_MS, TURN_MS * setting.operations);
  const crowds: HandoffCrowd[] = [];
  try {
    for (const context of [false, true]) {
      // Whoever uses an AsyncLocalStorage slows all others of its process.
      const entrants = HANDOFF_ENTRANTS.filter(({ usesContext = false }) => usesContext === context);
      crowds.push(await HandoffCrowd.start(Math.min(processes, callers), url, entrants));
    }
    const contenders = crowds.flatMap((crowd) =>
      crowd.contenders.map((each): Contender => ({ ...each, crowd, turns: [], atOnce: [], commands: 0 })),
    );
    // Not timed.
    for (const contender of contenders) {
      const { crowd, name, role } = contender;
      // Polling is so slow that it is no matter how well its code is compiled.
      const warmUpMs = role === 'peer' ? 0 : WARM_UP_MS * setting.operations;
      await crowd.contend(name, callers, Math.max(SHORTEST_MS, warmUpMs), { held: false, drains: true });
      const count = await CommandCount.start(url);
      const uses = await crowd.contend(name, callers, Math.max(SHORTEST_MS, COUNTED_MS * setting.operations), {
        drains: true,
      });
      contender.commands = (await count.stop()) / uses.length;
    }
    for (let round = 0; round < rounds(ROUNDS, setting); round++) {
      for (let place = 0; place < contenders.length; place++) {
        // Nobody always follows the same neighbour.
        const { crowd, name, role, turns, atOnce } = contenders[(place + round) % contenders.length]!;
        turns.push(summary(name, await crowd.contend(name, callers, turnMs), callers, turnMs));
        if (role === 'peer') continue;
        const uses = await crowd.contend(name, callers, turnMs / 2, { held: false });
        atOnce.push(summary(name, uses, callers, turnMs / 2).perSecond);
      }
    }
    return table(processes, callers, contenders, crowds);
  } finally {
    await Promise.all(crowds.map((crowd) => crowd.stop()));
  }
}

function summary(name: string, uses: readonly Use[], callers: number, turnMs: number): Turn {
  const gaps: number[] = [];
  const grants = Array<number>(callers).fill(0);
  uses.forEach((use, index) => {
    grants[use.who]!++;
    const before = uses[index - 1];
    if (!before) return;
    if (use.takenAt < before.leftAt) throw new Error(`${name} does not exclude: two held the key at once`);
    if (use.who !== before.who) gaps.push(use.takenAt - before.leftAt);
  });
  return {
    perSecond: (gaps.length * 1000) / turnMs,
    gapMs: gaps.length > 0 ? quantile(gaps, 0.5) : Number.POSITIVE_INFINITY,
    fairness: Math.max(...grants) / Math.min(...grants),
  };
}

function table(
  processes: number,
  callers: number,
  contenders: readonly Contender[],
  crowds: readonly HandoffCrowd[],
): Table {
  const [limit] = contenders;
  return {
    title: `1 node, one key handed on among ${callers} callers in ${processes === 1 ? 'one process' : `${processes} processes`}`,
    about:
      'Everyone wants the key, holds it for about 1 ms, as short as a timer can be, gives it back, and wants it again. A hand-off is a grant to another caller than the one before; its gap runs from the call of the release to the next ' +
      'caller having the key. Ratios are to the first row in the same round, medians over the rounds. Commands are those that clients send, a script being one, counted in turns of their own. ' +
      'The last column: grants of the luckiest caller for each of the unluckiest, ∞ where one never gets the key. Each turn is checked for two holders at once.',
    columns: [
      { key: 'drain', head: 'time per hand-off, ratio', digits: 2 },
      { key: 'gap', head: 'gap, ratio', digits: 2 },
      { key: 'gapUs', head: 'gap p50 µs' },
      { key: 'perSecond', head: 'hand-offs per second' },
      { key: 'atOnce', head: 'given back at once: time per hand-off, ratio', digits: 2 },
      { key: 'commands', head: 'commands per grant', digits: 2 },
      { key: 'fairness', head: 'max/min grants', digits: 2 },
    ],
    rows: contenders.map((contender) => row(contender, limit!)),
    chart: { column: 'perSecond', better: 'higher' },
    leftOut: crowds.flatMap(({ leftOut }) => leftOut),
  };
}

function row({ name, role, turns, atOnce, commands }: Contender, limit: Contender): Row {
  const median = (figure: (turn: Turn, round: number) => number): number => quantile(turns.map(figure), 0.5);
  return {
    name,
    role,
    figures: {
      drain: finite(median(({ perSecond }, round) => limit.turns[round]!.perSecond / perSecond)),
      gap: finite(median(({ gapMs }, round) => gapMs / limit.turns[round]!.gapMs)),
      gapUs: finite(median(({ gapMs }) => gapMs) * 1000),
      perSecond: median(({ perSecond }) => perSecond),
      atOnce:
        role === 'peer'
          ? null
          : quantile(
              atOnce.map((perSecond, round) => limit.atOnce[round]! / perSecond),
              0.5,
            ),
      commands,
      fairness: finite(median(({ fairness }) => fairness)),
    },
  };
}

function finite(figure: number): Figure {
  return Number.isFinite(figure) ? figure : '∞';
}
