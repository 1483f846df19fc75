import type { Socket } from 'node:net';
import { clearTimeout, setTimeout } from 'node:timers';

export type LaneName = 'requests' | 'replies';

export interface LaneSetting {
  blocked?: 'keep' | 'drop';
  delayMs?: () => number;
}

type Delivery = (sink: Socket) => void;

/** One direction of one connection: what its source sends (bytes, then its end) reaches the sink late, or not, but in order. */
export class ProxyLane {
  lostBytes = false;
  private readonly queue: { deliver: Delivery; dueAt: number }[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly sink: Socket,
    private setting: LaneSetting,
  ) {}

  carry(deliver: Delivery, bytes = 0): void {
    if (this.setting.blocked === 'drop' && bytes > 0) {
      this.lostBytes = true;
      return;
    }
    this.queue.push({ deliver, dueAt: performance.now() + (this.setting.delayMs?.() ?? 0) });
    this.flush();
  }

  apply(setting: LaneSetting): void {
    this.setting = setting;
    // what waited under the setting before is under way no longer
    if (!setting.delayMs) this.queue.forEach((item) => (item.dueAt = 0));
    if (setting.blocked === 'drop') this.dropQueue();
    this.flush();
  }

  clear(): void {
    clearTimeout(this.timer);
    this.queue.length = 0;
  }

  private dropQueue(): void {
    if (this.queue.length > 0) this.lostBytes = true;
    this.queue.length = 0;
  }

  private flush(): void {
    clearTimeout(this.timer);
    while (!this.setting.blocked) {
      const head = this.queue[0];
      if (!head) return;
      const waitMs = head.dueAt - performance.now();
      if (waitMs > 0) {
        this.timer = setTimeout(() => this.flush(), waitMs);
        return;
      }
      this.queue.shift();
      head.deliver(this.sink);
    }
  }
}
