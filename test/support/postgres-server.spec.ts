import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import pg from 'pg';
import { ChildProcess } from './child-process.js';
import { eventually } from './eventually.js';
import { isAlive } from './managed-process.js';
import { PostgresServer } from './postgres-server.js';

describe('PostgresServer', () => {
  let server: PostgresServer | undefined;
  const clients: pg.Client[] = [];
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client(server!.url);
    client.on('error', () => undefined);
    await client.connect();
    clients.push(client);
    return client;
  };

  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 60_000);

  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
    await server?.stop();
  });

  it('answers queries', async () => {
    const { rows } = await (await connect()).query('select 1 as one');
    expect(rows).toEqual([{ one: 1 }]);
  });

  it('answers nothing while frozen and everything after', async () => {
    const client = await connect();
    server!.freeze();
    let answered = false;
    const reply = client.query('select 2 as two').finally(() => (answered = true));
    await new Promise((resolve) => client['connection'].stream.write('', resolve));
    expect(answered).toBe(false);
    server!.thaw();
    expect((await reply).rows).toEqual([{ two: 2 }]);
  });

  it('keeps what was committed over a crash, on the same port', async () => {
    await (await connect()).query('create table kept as select 3 as three');
    const { port } = server!;
    await server!.kill();
    await expect(connect()).rejects.toThrow('ECONNREFUSED');
    await server!.restart();
    expect(server!.port).toBe(port);
    expect((await (await connect()).query('select * from kept')).rows).toEqual([{ three: 3 }]);
  });

  it('stops while frozen', async () => {
    server!.freeze();
    await server!.stop();
    expect(server!.running).toBe(false);
  });

  it('leaves nothing behind, not even a frozen backend, when the process that started it is killed', async () => {
    const owner = await ChildProcess.start('test/support/fixtures/postgres-owner.ts');
    const { pids, folder } = await owner.next<{ pids: number[]; folder: string }>(undefined, 60_000);
    expect(pids.length).toBeGreaterThan(1);
    expect(pids.every(isAlive) && existsSync(folder)).toBe(true);
    await owner.kill();
    await eventually(() => expect(pids.some(isAlive) || existsSync(folder)).toBe(false));
  }, 90_000);
});
