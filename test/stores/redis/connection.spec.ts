import { describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { connect } from '../../../lib/stores/redis/connection.js';
import { freePort } from '../../support/free-port.js';

describe('A connection of our own', () => {
  it('has someone listening to its errors from the first moment', async () => {
    const { client } = await connect({ host: '127.0.0.1', port: await freePort(), retryStrategy: () => null }, 0);
    expect((client as unknown as NodeJS.EventEmitter).listenerCount('error')).toBe(1);
    await new Promise((resolve) => client.on('end', resolve));
  });

  it('tries again at least every 0.3 s, however long a node has been gone', async () => {
    const { client } = await connect({ host: '127.0.0.1', port: await freePort() }, 0);
    client.disconnect();
    const { retryStrategy } = client.options as { retryStrategy: (attempt: number) => number };
    const delays = [1, 2, 3, 10, 1000].map(retryStrategy);
    expect(Math.max(...delays)).toBe(300);
    expect(delays[0]).toBe(100);
  });

  it('leaves a primary that its Sentinels have replaced at once, unless the user has it otherwise', async () => {
    for (const chosen of [{}, { failoverDetector: false }]) {
      const { client } = await connect({ host: '127.0.0.1', port: await freePort(), ...chosen }, 0);
      client.disconnect();
      expect(client.options).toMatchObject({ failoverDetector: true, ...chosen });
    }
  });

  it('is named without what its URL keeps secret', async () => {
    const { client, name, own } = await connect(`redis://user:secret@127.0.0.1:${await freePort()}/1`, 0);
    client.disconnect();
    expect(name).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(own).toBe(true);
  });

  it('to a Cluster is named by where that was entered, without what that keeps secret', async () => {
    const names: string[] = [];
    for (const start of [{ host: 'one', port: 1 }, 'redis://user:secret@two:2', 3, 'four']) {
      const client = new Cluster([start], { lazyConnect: true });
      names.push((await connect(client, 1)).name);
    }
    expect(names).toEqual(['cluster of one:1', 'cluster of two:2', 'node 2', 'node 2']);
  });

  it.each(['enableOfflineQueue', 'autoResendUnfulfilledCommands'])(
    'never has %s, whatever the user says',
    async (option) => {
      const { client } = await connect({ host: '127.0.0.1', port: await freePort(), [option]: true }, 0);
      client.disconnect();
      expect(client.options).toMatchObject({ [option]: false });
    },
  );
});
