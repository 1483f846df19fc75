import type { NodeReply, NodeRequest } from '../../../../lib/stores/redis/lock-node.js';
import { KEPT_FOR } from '../../../../lib/stores/redis/node-lua.js';
import { ModelNode, type Entry } from './model-node.js';

/** Hears what a release says on the channel of a key: whose it was, or whom it is kept for. */
export type Hears = (key: string, whose: string) => void;

const CLAIM_MS = 500;
const LINE_MS = 60_000;
const DONE: NodeReply = { status: 'yes', value: 0 };

/** A model node that also keeps the line of those who wait, and tells of releases. lined-node.spec.ts holds it against the script. */
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

  #queue(request: NodeRequest): NodeReply {
    const { key } = request;
    const abstention = this.abstention(key);
    if (abstention) return abstention;
    const id = request.place!.slice(1);
    const [first = ''] = this.#places(key);
    if (this.holder(key) === undefined && first !== '' && first !== id) this.#keepForFirst(key);
    const holder = this.holder(key);
    if (holder !== undefined && holder !== KEPT_FOR + id) {
      const places = this.#places(key);
      this.#setLine(key, id === '' || places.includes(id) ? places : [...places, id]);
      return this.taken(key);
    }
    if (id !== '') {
      const others = this.#places(key).filter((place) => place !== id);
      const places = request.place!.startsWith('+') ? [...others, id] : others;
      if (this.line(key) !== undefined || places.length > 0) this.#setLine(key, places);
    }
    return this.grant(request);
  }

  #leave({ key, owner: id }: NodeRequest): NodeReply {
    if (this.line(key) !== undefined) {
      this.#setLine(
        key,
        this.#places(key).filter((place) => place !== id),
      );
    }
    if (this.holder(key) === KEPT_FOR + id) this.#handOn(key, id);
    return DONE;
  }

  #handOn(key: string, owner: string): void {
    const line = this.line(key);
    if (line) return this.#keepForFirst(key);
    this.locks.delete(key);
    if (line === undefined) return;
    this.#lines.delete(key);
    this.#publish(key, owner);
  }

  #keepForFirst(key: string): void {
    const [first, ...others] = this.#places(key);
    this.#setLine(key, others);
    this.write(this.locks, key, KEPT_FOR + first!, CLAIM_MS);
    this.#publish(key, KEPT_FOR + first!);
  }

  #places(key: string): string[] {
    return (this.line(key) ?? '').split(' ').filter(Boolean);
  }

  #setLine(key: string, places: readonly string[]): void {
    this.write(this.#lines, key, places.join(' '), LINE_MS);
  }

  #publish(key: string, whose: string): void {
    for (const hears of this.#hearers) hears(key, whose);
  }
}
