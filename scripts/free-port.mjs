import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const LOWEST = 10_000;
const ATTEMPTS = 100;

/**
 * A free loopback port below the range from which the system picks the local ports of outgoing connections. A port out
 * of that range can be taken by any client while its server is down, and then the server could not come back on it.
 * @returns {Promise<number>}
 */
export async function freePort() {
  const highest = Math.max(LOWEST + 1_000, firstEphemeralPort() - 1);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = LOWEST + Math.floor(Math.random() * (highest - LOWEST));
    if (await isFree(port)) return port;
  }
  throw new Error(`No free port found between ${LOWEST} and ${highest}`);
}

/** @param {number} port */
async function isFree(port) {
  const probe = createServer();
  try {
    probe.listen(port, '127.0.0.1');
    await once(probe, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}

function firstEphemeralPort() {
  try {
    return Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
  } catch {
    return 49_152;
  }
}
