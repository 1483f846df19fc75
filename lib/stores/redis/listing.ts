import { LockOptionsError, LockUnavailableError, type NodeFailure } from '../../errors.js';
import type { KeyPage, KeyQuery, KeyState } from '../lock-store.js';
import type { LockNode, NodeScan } from './lock-node.js';
import type { NodeGroup } from './node-group.js';
import { Survey, type Sight } from './survey.js';

/** How far a listing has come: text, to go into a cursor. */
interface Progress {
  /** Which of the nodes is being scanned. */
  node: number;
  /** Where its scan goes on. */
  scan: string;
  /** Of the keys which that brings, the last one that has been seen to; they are taken in order. */
  after: string;
  /** The nodes that were left out, since they gave no answer. */
  readonly missed: number[];
}

/** Most of what a Redis keeps are fences, or not ours at all: where nothing is found it looks at more at once. */
const LEAST_COUNT = 100;
const MOST_COUNT = 1000;
/** Then the page ends, however little was found. */
const MOST_SCANS = 100;

/**
 * The locks of several nodes, each once: node by node, and of what a node has only what no node before it has as well. For whatever a majority holds, some node that answers
 * has it.
 */
export class Listing {
  readonly #failures: NodeFailure[] = [];

  constructor(private readonly group: NodeGroup) {}

  async page({ prefix, limit, cursor }: KeyQuery): Promise<KeyPage> {
    const progress = cursor === undefined ? { node: 0, scan: '', after: '', missed: [] } : decode(cursor);
    const keys: KeyState[] = [];
    let count = Math.max(LEAST_COUNT, Math.min(limit, MOST_COUNT));
    for (let scans = 0; scans < MOST_SCANS && progress.node < this.group.nodes.length; scans++) {
      const batch = await this.#scan(prefix, progress, count);
      if (batch) {
        await this.#take(batch, progress, keys, limit);
        if (batch.keys.length === 0) count = Math.min(MOST_COUNT, 2 * count);
      }
      if (keys.length === limit) break;
    }
    return progress.node < this.group.nodes.length ? { keys, cursor: encode(progress) } : { keys };
  }

  /** Nothing of a node that gives no answer, as long as a majority does. */
  async #scan(prefix: string, progress: Progress, count: number): Promise<NodeScan | undefined> {
    const { nodes, quorum } = this.group;
    const node = nodes[progress.node]!;
    try {
      return await node.scan!(prefix, progress.scan, count);
    } catch (error) {
      if (error instanceof LockOptionsError) throw error;
      this.#failures.push({ node: node.name, reason: (error as Error).message });
      progress.missed.push(progress.node);
      toNextNode(progress);
      if (nodes.length - progress.missed.length >= quorum) return undefined;
      throw unlisted(prefix, this.#failures);
    }
  }

  /** Adds what the batch has, and moves on; or not beyond the last key for which there is room. */
  async #take(batch: NodeScan, progress: Progress, keys: KeyState[], limit: number): Promise<void> {
    let left = [...new Set(batch.keys)].filter((key) => key > progress.after).sort(byCodeUnit);
    while (left.length > 0) {
      const room = left.slice(0, limit - keys.length);
      if (room.length === 0) return;
      left = left.slice(room.length);
      const sights = await this.#look(room);
      for (const [index, sight] of sights.entries()) {
        if (this.#isNew(sight, progress)) keys.push({ key: room[index]!, ...sight.state });
      }
      progress.after = room.at(-1)!;
    }
    progress.after = '';
    progress.scan = batch.cursor;
    if (batch.cursor === '') toNextNode(progress);
  }

  #look(keys: readonly string[]): Promise<Sight[]> {
    return Promise.all(keys.map((key) => this.#lookAt(key)));
  }

  /** A key that the scan found, and of which then too few nodes tell anything, has not come free for that. */
  async #lookAt(key: string): Promise<Sight> {
    const survey = new Survey(this.group, key);
    const sight = await survey.ask(this.group.nodes);
    if (sight.taken.length > 0 || sight.certain) return sight;
    throw unlisted(key, survey.failures);
  }

  /** Not if it has come free since, or was found on an earlier node. */
  #isNew({ taken }: Sight, { node, missed }: Progress): boolean {
    const first = this.group.nodes.findIndex(
      (candidate: LockNode, index) => !missed.includes(index) && taken.some((vote) => vote.node === candidate),
    );
    return first >= node;
  }
}

function unlisted(about: string, failures: readonly NodeFailure[]): LockUnavailableError {
  const reasons = failures.map(({ node, reason }) => `${node}: ${reason}`).join('; ');
  return new LockUnavailableError(about, failures, `Locks could not be listed: ${reasons}. Check these nodes.`);
}

function toNextNode(progress: Progress): void {
  progress.node++;
  progress.scan = '';
  progress.after = '';
}

function encode({ node, scan, after, missed }: Progress): string {
  return Buffer.from(JSON.stringify([node, scan, after, missed])).toString('base64url');
}

/** @throws LockOptionsError */
function decode(cursor: string): Progress {
  const [node, scan, after, missed] = parse(cursor);
  const isIndex = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  if (isIndex(node) && typeof scan === 'string' && typeof after === 'string' && Array.isArray(missed)) {
    if (missed.every(isIndex)) return { node, scan, after, missed };
  }
  throw new LockOptionsError('cursor', cursor, 'give the cursor of the page before.');
}

function parse(cursor: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}

function byCodeUnit(one: string, other: string): number {
  return one < other ? -1 : 1;
}
