import { styleText } from 'node:util';
import { Journal } from './shop/journal.js';

/** One thing that had to be so, and what was seen instead. */
export interface Finding {
  readonly check: string;
  readonly seen: string;
  readonly ok: boolean;
}

const NAME_WIDTH = 5;
const EVENT_WIDTH = 58;
const COLOURS = ['cyan', 'magenta', 'yellow'] as const;

/** Everything that the audience sees. */
export class Stage {
  private readonly casting = new Map<string, (typeof COLOURS)[number]>();

  headline(title: string, explanation?: string): void {
    console.log(`\n${paint('bold', title)}`);
    if (explanation) console.log(paint('dim', explanation));
  }

  line(pod: string, event: string, token?: number): void {
    const time = new Date().toISOString().slice(11, 23);
    const columns = [
      time,
      this.inColour(pod.padEnd(NAME_WIDTH)),
      event.padEnd(EVENT_WIDTH),
      token === undefined ? '' : `token ${token}`,
    ];
    console.log(columns.join('  ').trimEnd());
  }

  /** A journal whose lines appear under the name of this pod. */
  journalOf(pod: string): Journal {
    return { write: (event, token) => this.line(pod, event, token) };
  }

  verdict(findings: readonly Finding[]): void {
    const width = (column: 'check' | 'seen'): number => Math.max(...findings.map((finding) => finding[column].length));
    this.headline('Verdict');
    for (const { check, seen, ok } of findings) {
      const mark = ok ? paint('green', 'ok') : paint('red', 'VIOLATED');
      console.log(`${check.padEnd(width('check'))}  ${seen.padEnd(width('seen'))}  ${mark}`);
    }
  }

  private inColour(pod: string): string {
    let colour = this.casting.get(pod);
    if (!colour) {
      colour = COLOURS[this.casting.size % COLOURS.length] ?? 'cyan';
      this.casting.set(pod, colour);
    }
    return paint(colour, pod);
  }
}

function paint(style: 'bold' | 'dim' | 'red' | 'green' | (typeof COLOURS)[number], text: string): string {
  return process.stdout.isTTY ? styleText(style, text) : text;
}
