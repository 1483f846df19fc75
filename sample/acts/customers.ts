import { setTimeout } from 'node:timers/promises';
import type { Pod } from '../pods/pod.js';
import { post, type Reply } from './client.js';

const PAUSE_MS = 100;

/** They ask every pod for the same thing, again and again. */
export class Customers {
  private readonly statuses: number[] = [];
  private gone = false;

  constructor(
    private readonly path: string,
    private readonly told: (pod: Pod, reply: Reply) => void = () => undefined,
  ) {}

  /** Resolves when they have left; rejects when a pod does not answer at all. */
  async visit(pods: readonly Pod[]): Promise<void> {
    await Promise.all(pods.map((pod) => this.keepAsking(pod)));
  }

  leave(): void {
    this.gone = true;
  }

  /** How often they were answered with this. */
  count(status: number): number {
    return this.statuses.filter((one) => one === status).length;
  }

  /** Whether they were never answered with anything else. */
  gotOnly(expected: readonly number[]): boolean {
    return this.statuses.every((status) => expected.includes(status));
  }

  private async keepAsking(pod: Pod): Promise<void> {
    while (!this.gone) {
      const reply = await post(pod, this.path);
      this.statuses.push(reply.status);
      this.told(pod, reply);
      await setTimeout(PAUSE_MS);
    }
  }
}
