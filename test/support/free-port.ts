import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';

/**
 * A free loopback port below the range from which the system picks the local ports of outgoing connections. A port out
 * of that range can be taken by any client while its server is down, and then the server could not come back on it.
 */
export async function freePort(): Promise<number> {
  const lowest = 10_000;
  const highest = Math.max(lowest + 1_000, firstEphemeralPort() - 1);
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (await isFree(port)) return port;
  }
  throw new Error(`No free port found between ${lowest} and ${highest}`);
}

async function isFree(port: number): Promise<boolean> {
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

function firstEphemeralPort(): number {
  try {
    return Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
  } catch {
    return 49_152;
  }
}
