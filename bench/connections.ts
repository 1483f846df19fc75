import { Redis } from 'ioredis';
import { connect } from '../lib/stores/redis/connection.js';

/** Connections with the very options that the module gives its own, so that they make no difference. */
export async function connectAll(urls: readonly string[], options: object = {}): Promise<Redis[]> {
  const clients = await Promise.all(urls.map(async (url, index) => open(url, options, index)));
  await Promise.all(clients.map(ready));
  return clients;
}

/** Connections as a user makes them who sets no options. */
export async function connectPlain(urls: readonly string[]): Promise<Redis[]> {
  const clients = urls.map((url) => new Redis(url));
  for (const client of clients) client.on('error', () => undefined);
  await Promise.all(clients.map(ready));
  return clients;
}

export async function disconnectAll(clients: readonly Redis[]): Promise<void> {
  for (const client of clients) client.disconnect();
}

async function open(url: string, options: object, index: number): Promise<Redis> {
  const { hostname, port } = new URL(url);
  const { client } = await connect({ host: hostname, port: Number(port), ...options }, index);
  return client as unknown as Redis;
}

async function ready(client: Redis): Promise<void> {
  if (client.status !== 'ready') await new Promise((resolve) => client.once('ready', resolve));
}
