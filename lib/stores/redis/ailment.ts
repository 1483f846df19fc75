import type { NodeFailure } from '../../errors.js';

/** Said of a client that will not connect again: after `quit()`, `disconnect()`, or when its `retryStrategy` gave up. */
export const CLOSED = 'closed: this client has ended, and will not connect again';

/**
 * What a node says that nobody but its operator ends. Whoever waits is told at once, then:
 * - NOAUTH, WRONGPASS, NOPERM, an unknown command: it is set up in another way than this process.
 * - A Redis that is too old, or a mere member of a Cluster: it can never be of use.
 * - OOM: `maxmemory` is reached, and `noeviction`, which locks need, lets nothing go to make room.
 * - MISCONF: it cannot save to its disk, and refuses to write until it can.
 * - A certificate that is not trusted, out of date, or another host's.
 * - A client that has ended.
 *
 * All else may pass by itself, so that waiting can help: LOADING (its data is read in a moment), BUSY (a script ends), READONLY and CLUSTERDOWN (a failover is under way, and leads the
 * connection to the new primary), NOREPLICAS and MASTERDOWN (they come back), too many clients (some leave), a connection that is made anew, an answer that is late, a quarantine.
 */
const LASTING =
  /^(?:not connected \()?(?:(?:NOAUTH|WRONGPASS|NOPERM|OOM|MISCONF) |ERR unknown command|MOVED is|it runs Redis|closed: |.*certificate)/i;

export function toFailure(node: string, reason: string): NodeFailure {
  return LASTING.test(reason) ? { node, reason, lasting: true } : { node, reason };
}
