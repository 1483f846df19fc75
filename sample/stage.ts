import { styleText } from 'node:util';
import { Journal } from './shop/journal.js';

/** One thing that had to be so, and what was seen instead. */
export interface Finding {
  readonly check: string;
  readonly seen: string;
  readonly ok: boolean;
}

const TIME_WIDTH = 12;
const NAME_WIDTH = 5;
const EVENT_WIDTH = 58;
const COLOURS = ['cyan', 'magenta', 'yellow'] as const;

/** Everything that the audience sees. */
export class Stage {
  private readonly casting = new Map<string, (typeof COLOURS)[number]>();

  private acts = 0;
  private since: number | undefined;

  /** The next act, counted. */
  act(title: string, explanation: string): void {
    this.headline(`Act ${++this.acts}. ${title}`, explanation);
  }

  /** From here to the next headline the act itself tells what happens, and after how many seconds; journals are silent. */
  narrate(): void {
    this.since = performance.now();
  }

  headline(title: string, explanation?: string): void {
    this.since = undefined;
    console.log(`\n${paint('bold', title)}`);
    if (explanation) console.log(paint('dim', explanation));
  }

  /** For whoever wants to look for themselves. */
  note(text: string): void {
    console.log(text);
  }

  line(pod: string, event: string, token?: number): void {
    const columns = [
      this.time(),
      this.inColour(pod.padEnd(NAME_WIDTH)),
      event.padEnd(EVENT_WIDTH),
      token === undefined ? '' : `token ${token}`,
    ];
    console.log(columns.join('  ').trimEnd());
  }

  /** A journal whose lines appear under the name of this pod. */
  journalOf(pod: string): Journal {
    return {
      write: (event, token) => {
        if (this.since === undefined) this.line(pod, event, token);
      },
    };
  }

  verdict(findings: readonly Finding[]): void {
    const width = (column: 'check' | 'seen'): number => Math.max(...findings.map((finding) => finding[column].length));
    this.headline('Verdict');
    for (const { check, seen, ok } of findings) {
      const mark = ok ? paint('green', 'ok') : paint('red', 'VIOLATED');
      console.log(`${check.padEnd(width('check'))}  ${seen.padEnd(width('seen'))}  ${mark}`);
    }
  }

  private time(): string {
    if (this.since === undefined) return new Date().toISOString().slice(11, 23);
    return `${((performance.now() - this.since) / 1000).toFixed(1)} s`.padStart(TIME_WIDTH);
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
