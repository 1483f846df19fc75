import type { LockNode, NodeReply, NodeRequest } from '../../../lib/stores/redis/lock-node.js';

type Late = (reply: NodeReply) => void;

/** Asks a node as a test likes it: with a promise. */
export function ask(
  node: LockNode,
  request: NodeRequest,
  timeoutMs: number,
  late: Late = () => undefined,
): Promise<NodeReply> {
  return new Promise((resolve, reject) => {
    node.send(request, timeoutMs, {
      answered: (_, reply) => resolve(reply),
      failed: (_, why) => reject(new Error(why)),
      late: (_, reply) => late(reply),
    });
  });
}

/** A node made of a function that promises its answers. */
export function promisedNode(
  name: string,
  send: (request: NodeRequest, timeoutMs: number, late: Late) => Promise<NodeReply>,
): LockNode {
  const node: LockNode = {
    name,
    send(request, timeoutMs, asker) {
      send(request, timeoutMs, (reply) => asker.late(node, reply)).then(
        (reply) => asker.answered(node, reply),
        (error: unknown) => asker.failed(node, (error as Error).message),
      );
    },
    close: async () => undefined,
  };
  return node;
}
