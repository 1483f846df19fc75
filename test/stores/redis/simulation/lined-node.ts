import { freeChannel, turnChannel } from '../../../../lib/stores/redis/key-names.js';
import type { NodeReply, NodeRequest } from '../../../../lib/stores/redis/lock-node.js';
import { TURN_MS } from '../../../../lib/stores/redis/node-lua.js';
import { ModelNode, type Entry } from './model-node.js';

/** A connection that listens: whether it does to this channel. */
export type Hears = (channel: string, message: string) => boolean;

/** Who stands in line, and for how long they are to get the key. */
interface Entrant {
  readonly owner: string;
  readonly ms: number;
}

const LINE_MS = 60_000;
const DONE: NodeReply = { status: 'yes', value: 0 };

/** A model node that also keeps the line of those who wait, and tells of turns and releases. lined-node.spec.ts holds it against the script. */
export class LinedNode extends ModelNode {
  readonly #lines = new Map<string, Entry<string>>();
  readonly #hearers = new Set<Hears>();

  override serve(request: NodeRequest): NodeReply {
    if (request.verb === 'queue') return this.#queue(request);
    if (request.verb === 'leave') return this.#leave(request);
    return super.serve(request);
  }

  /** Undefined without one; an empty line is one whose hearers stand in none. */
  line(key: string): string | undefined {
    return this.read(this.#lines, key);
  }

  subscribe(hears: Hears): void {
    this.#hearers.add(hears);
  }

  /** All connections broke. */
  disconnect(): void {
    this.#hearers.clear();
  }

  override forgetAll(): void {
    super.forgetAll();
    this.#lines.clear();
  }

  protected override release(request: NodeRequest): NodeReply {
    if (request.ms > 0) return super.release(request);
    this.#handOn(request.key, request.owner);
    return DONE;
  }

  /** What its own verbs may be made to do wrong. */
  protected claims(holder: string, before: string): boolean {
    return holder === before;
  }

  protected turnMs(ms: number, _before: number | undefined): number {
    return Math.min(ms, TURN_MS);
  }

  #queue(request: NodeRequest): NodeReply {
    const { key, owner, ms, place = '' } = request;
    const abstention = this.abstention(key);
    if (abstention) return abstention;
    const before = place.slice(1);
    const [first] = this.#places(key);
    if (this.holder(key) === undefined && first && first.owner !== before) this.#handToFirst(key, owner);
    const places = this.#places(key);
    const at = before === '' ? -1 : indexOf(places, before);
    const holder = this.holder(key);
    if (holder !== undefined && !this.claims(holder, before)) {
      const entrant = { owner, ms: this.turnMs(ms, places[at]?.ms) };
      if (at >= 0) places[at] = entrant;
      else if (place !== '') places.push(entrant);
      this.#setLine(key, places);
      return this.taken(key);
    }
    if (at >= 0) this.#setLine(key, places.slice(at + 1));
    return this.grant(request);
  }

  #leave({ key, owner }: NodeRequest): NodeReply {
    const places = this.#places(key);
    const at = indexOf(places, owner);
    if (at >= 0) this.#setLine(key, places.toSpliced(at, 1));
    if (this.holder(key) === owner) this.#handOn(key, owner);
    return DONE;
  }

  #handOn(key: string, owner: string): void {
    const line = this.line(key);
    if (line) return this.#handToFirst(key, owner);
    this.locks.delete(key);
    if (line !== undefined) this.#free(key, owner);
  }

  #free(key: string, owner: string): void {
    this.locks.delete(key);
    this.#lines.delete(key);
    this.#publish(freeChannel(key), owner);
  }

  #handToFirst(key: string, by: string): void {
    const places = this.#places(key);
    const passed = this.read(this.fences, key);
    let heard = 0;
    while (places.length > 0 && heard === 0) {
      const { owner, ms } = places.shift()!;
      this.write(this.locks, key, owner, ms);
      const token = passed === undefined ? '' : passed + 1;
      heard = this.#publish(turnChannel('', owner), `${owner} ${token} ${key}`);
    }
    if (heard === 0) return this.#free(key, by);
    this.#setLine(key, places);
    if (passed !== undefined) this.remember(key, passed + 1, 0);
  }

  #places(key: string): Entrant[] {
    const entries = (this.line(key) ?? '').split(' ').filter(Boolean);
    return entries.map((entry) => {
      const end = entry.lastIndexOf('/');
      return { owner: entry.slice(0, end), ms: Number(entry.slice(end + 1)) };
    });
  }

  #setLine(key: string, places: readonly Entrant[]): void {
    this.write(this.#lines, key, places.map(({ owner, ms }) => `${owner}/${ms}`).join(' '), LINE_MS);
  }

  /** How many heard it. */
  #publish(channel: string, message: string): number {
    return [...this.#hearers].filter((hears) => hears(channel, message)).length;
  }
}

function indexOf(places: readonly Entrant[], owner: string): number {
  return places.findIndex((place) => place.owner === owner);
}
