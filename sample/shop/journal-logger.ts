import { ConsoleLogger } from '@nestjs/common';
import type { Journal } from './journal.js';

/**
 * Brings what the library says through Nest's logger (a call skipped, a lock lost) into the journal, the first sentence of it.
 * Nest has one logger per process, so pods that share a process share this too.
 */
export class JournalLogger extends ConsoleLogger {
  constructor(private readonly journal: Journal) {
    super({ logLevels: ['debug', 'warn', 'error', 'fatal'] });
  }

  override debug(message: unknown): void {
    this.write(message);
  }

  override warn(message: unknown): void {
    this.write(message);
  }

  private write(message: unknown): void {
    const [sentence = ''] = String(message).split(/\. |\.$/);
    this.journal.write(sentence);
  }
}
