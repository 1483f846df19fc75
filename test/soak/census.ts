import type { EventEmitter } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import pg from 'pg';

/** What a process has of things that must not become more and more. */
export interface Sample {
  readonly heapBytes: number;
  /** Of all connections that are in use. */
  readonly listeners: number;
  /** Timers, sockets and the like that keep the process alive. */
  readonly resources: number;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Counts them in this process, the connections that the stores made included. */
export class Census {
  readonly #clients = new Set<WeakRef<EventEmitter>>();

  constructor() {
    this.#see(Redis.prototype);
    this.#see(pg.Client.prototype);
  }

  take(): Sample {
    collect();
    let listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
    for (const reference of this.#clients) {
      const client = reference.deref();
      if (!client) this.#clients.delete(reference);
      else for (const name of client.eventNames()) listeners += client.listenerCount(name);
    }
    return {
      heapBytes: process.memoryUsage().heapUsed,
      listeners,
      resources: process.getActiveResourcesInfo().length,
    };
  }

  /** Every client is seen when it connects. */
  #see(prototype: { connect: unknown }): void {
    const clients = this.#clients;
    const connect = prototype.connect as (...args: unknown[]) => unknown;
    prototype.connect = function (this: EventEmitter, ...args: unknown[]): unknown {
      if (![...clients].some((reference) => reference.deref() === this)) clients.add(new WeakRef(this));
      return connect.apply(this, args);
    };
  }
}
