import type { LockOptions } from 'nestjs-fenced-lock';
import { ChildProcess } from '../../support/child-process.js';

export type PodOrder =
  | ({ readonly do: 'hold'; readonly key: string } & Pick<
      LockOptions,
      'ttl' | 'wait' | 'autoRenew' | 'minHold' | 'label'
    >)
  | { readonly do: 'hold-many'; readonly prefix: string; readonly count: number; readonly ttl: string }
  | { readonly do: 'free'; readonly key: string };

export type PodMessage =
  | { readonly type: 'ready'; readonly url: string }
  | { readonly type: 'holds'; readonly key: string; readonly token: number }
  | { readonly type: 'refused'; readonly key: string; readonly code: string }
  | { readonly type: 'freed'; readonly key: string }
  | { readonly type: 'lost'; readonly key: string; readonly reason: string };

/** A pod in a process of its own. */
export class PodProcess {
  private constructor(
    readonly name: string,
    /** Of its dashboard. */
    readonly url: string,
    readonly process: ChildProcess,
  ) {}

  static async start(name: string, nodes: readonly string[], port = 0): Promise<PodProcess> {
    const env = { POD_NAME: name, POD_NODES: nodes.join(','), POD_PORT: String(port) };
    const process = await ChildProcess.start('test/dashboard/browser/pod.ts', { env });
    const { url } = await process.next<Extract<PodMessage, { type: 'ready' }>>(({ type }) => type === 'ready', 60_000);
    return new PodProcess(name, url, process);
  }

  /** As the dashboard names it. */
  get holder(): string {
    return `${this.name} (${this.process.pid})`;
  }

  /** Asks for the key; resolves with the token once it has it. */
  async hold(key: string, options: Omit<Extract<PodOrder, { do: 'hold' }>, 'do' | 'key'> = {}): Promise<number> {
    this.ask(key, options);
    return this.got(key);
  }

  /** Asks for the key, and waits for nothing. */
  ask(key: string, options: Omit<Extract<PodOrder, { do: 'hold' }>, 'do' | 'key'> = {}): void {
    this.process.send({ do: 'hold', key, ...options });
  }

  async got(key: string): Promise<number> {
    return (await this.#next('holds', key)).token;
  }

  async refused(key: string): Promise<string> {
    return (await this.#next('refused', key)).code;
  }

  async holdMany(prefix: string, count: number, ttl: string): Promise<void> {
    this.process.send({ do: 'hold-many', prefix, count, ttl });
    await this.#next('holds', prefix);
  }

  async free(key: string): Promise<void> {
    this.process.send({ do: 'free', key });
    await this.#next('freed', key);
  }

  async lost(key: string): Promise<string> {
    return (await this.#next('lost', key)).reason;
  }

  #next<T extends 'holds' | 'refused' | 'freed' | 'lost'>(
    type: T,
    key: string,
  ): Promise<Extract<PodMessage, { type: T }>> {
    const fits = (message: { type: string; key?: string }): boolean => message.type === type && message.key === key;
    return this.process.next<any>(fits, 60_000);
  }
}
