import { hash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Moment } from './deadline.js';
import type { Random } from './runtime.js';

/** A longer host name keeps its end: that is where those of pods differ. */
const LONGEST_HOST = 48;
/** It shows whose turn it is, too: no two processes may ever share it. */
const UNIQUE_LENGTH = 12;
const RADIX = 36;

/** What an owner's name says to people. */
export interface OwnerName {
  /** The host name of its process; on Kubernetes that of the pod. */
  readonly pod: string;
  readonly pid: number;
  /** When it last asked for the key before it got it, by its own clock. */
  readonly since: Date;
}

/** What the owners of this process are told apart by from those of other pods. */
export function podName(host = hostname()): string {
  return host.replace(/[^\w.-]/g, '-').slice(-LONGEST_HOST) || 'unnamed';
}

/**
 * Makes the owners of one manager's attempts: `<host>-<pid>-<unique>/<when>-<number>`. What comes before the slash is the same for all, and no other's; it contains neither
 * space nor slash.
 */
export class Owners {
  readonly #instance: string;
  #made = 0;
  #at = Number.NaN;
  #when = '';

  constructor(random: Random, host = hostname()) {
    this.#instance = `${podName(host)}-${process.pid}-${hash('sha256', random.id()).slice(0, UNIQUE_LENGTH)}`;
  }

  /** A new one. */
  next({ wall }: Moment): string {
    if (wall !== this.#at) {
      this.#at = wall;
      this.#when = Math.max(0, Math.floor(wall)).toString(RADIX);
    }
    return `${this.#instance}/${this.#when}-${(this.#made++).toString(RADIX)}`;
  }
}

const NAME = /^([\w.-]+)-(\d+)-[0-9a-f]{12}\/([0-9a-z]{1,10})-[0-9a-z]+(?:\/|$)/;

/** Undefined if it was not made here. */
export function readOwner(owner: string): OwnerName | undefined {
  const [, pod, pid, when] = NAME.exec(owner) ?? [];
  if (pod === undefined || pid === undefined || when === undefined) return undefined;
  return { pod, pid: Number(pid), since: new Date(Number.parseInt(when, RADIX)) };
}
