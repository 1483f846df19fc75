import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';

const HOW_TO_INSTALL = `--redis needs a redis-server, and none was found. Install one with
  Linux (Debian, Ubuntu): sudo apt-get update && sudo apt-get install -y redis-server
  macOS:                  brew install redis
or say where it is (REDIS_SERVER_BIN=/path/to/redis-server), or where servers run (REDIS_NODES=redis://…,redis://…,redis://…).`;

export interface RedisServers {
  readonly urls: readonly string[];
  stop(): Promise<void>;
}

/** Independent servers on free ports of this machine, without persistence. */
export async function startRedisServers(count: number): Promise<RedisServers> {
  const binary = await findBinary();
  const ports = await freePorts(count);
  const servers = ports.map((port) => spawnServer(binary, port));
  // The last resort, should this process end in a way that stops nothing itself.
  const killAll = (): void => servers.forEach((server) => server.kill('SIGKILL'));
  process.once('exit', killAll);
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map(end));
    process.off('exit', killAll);
  };
  try {
    await Promise.all(servers.map(ready));
  } catch (error) {
    await stop();
    throw error;
  }
  return { urls: ports.map((port) => `redis://127.0.0.1:${port}`), stop };
}

async function findBinary(): Promise<string> {
  // From the package's root, since the compiled sample lies deeper than its source.
  const root = import.meta.resolve('nestjs-fenced-lock/package.json');
  const finder = (await import(new URL('scripts/find-servers.mjs', root).href)) as {
    findRedisServer(): string | undefined;
  };
  const binary = finder.findRedisServer();
  if (!binary) throw new Error(HOW_TO_INSTALL);
  return binary;
}

function spawnServer(binary: string, port: number): ChildProcess {
  const options = { port, bind: '127.0.0.1', save: '', appendonly: 'no', daemonize: 'no' };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  // In a process group of its own: Ctrl-C must not stop it before the pods have released what they hold.
  return spawn(binary, args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
}

function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`redis-server ended before it was ready (exit code ${code}).`)));
    if (!server.stdout) return;
    createInterface(server.stdout).on('line', (line) => {
      if (line.includes('Ready to accept connections')) resolve();
    });
  });
}

async function end(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, 'exit');
  server.kill('SIGTERM');
  await exited;
}

/** All are taken before any is given back, so that no two are the same. */
async function freePorts(count: number): Promise<number[]> {
  const holders = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(holders.map((holder) => once(holder, 'listening')));
  const ports = holders.map((holder) => (holder.address() as AddressInfo).port);
  await Promise.all(holders.map((holder) => once(holder.close(), 'close')));
  return ports;
}
