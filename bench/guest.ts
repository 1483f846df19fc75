import { ChildProcess } from '../test/support/child-process.js';
import type { LockerOptions } from './locker.js';
import type { Contender } from './measure.js';
import type { Role } from './table.js';
import type { Turn } from './turn.js';
import type { TurnPlan } from './turns.js';

/** What a contender in a process of its own is to do. */
export interface GuestOrder {
  /** Of the entrant. */
  readonly id: string;
  readonly options: LockerOptions;
  readonly plan: TurnPlan;
}

export type Greeting = { readonly name: string; readonly role: Role } | { readonly refusal: string };

/** Of preparing, and of a turn. */
const LIMIT_MS = 600_000;

/** A contender that takes its turns in a process of its own, because of what it does to a process. */
export class Guest implements Contender {
  private constructor(
    private readonly process: ChildProcess,
    readonly name: string,
    readonly role: Role,
  ) {}

  /** Rejects with the reason why it cannot run here, if so. */
  static async start(order: GuestOrder): Promise<Guest> {
    const file = new URL('./guest-process.ts', import.meta.url);
    const process = await ChildProcess.start(file, { args: [JSON.stringify(order)] });
    const greeting = await process.next<Greeting>(undefined, LIMIT_MS);
    if ('name' in greeting) return new Guest(process, greeting.name, greeting.role);
    await process.stop();
    throw new Error(greeting.refusal);
  }

  turn(): Promise<Turn> {
    this.process.send('turn');
    return this.process.next<Turn>(undefined, LIMIT_MS);
  }

  async stop(): Promise<void> {
    await this.process.stop();
  }
}
