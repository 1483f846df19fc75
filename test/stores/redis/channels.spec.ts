import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Channels } from '../../../lib/stores/redis/channels.js';
import type { RedisClient } from '../../../lib/stores/redis/redis-client.js';

/** A connection that listens, played. */
class Subscriber extends EventEmitter {
  status = 'connecting';
  readonly asked: string[] = [];
  refuses = false;

  async subscribe(channel: string): Promise<void> {
    this.asked.push(channel);
    if (this.refuses) throw new Error('NOPERM');
  }

  async unsubscribe(channel: string): Promise<void> {
    this.asked.push(`not ${channel}`);
  }

  disconnect(): void {
    this.become('close');
  }

  become(status: string): void {
    this.status = status;
    this.emit(status);
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('Channels', () => {
  let made: Subscriber[];
  let channels: Channels;
  let heard: (string | undefined)[];
  const hear = (message: string | undefined): void => void heard.push(message);

  beforeEach(() => {
    made = [];
    heard = [];
    const duplicate = (): Subscriber => made[made.push(new Subscriber()) - 1]!;
    channels = new Channels({ duplicate } as unknown as RedisClient);
  });

  async function opened(): Promise<Subscriber> {
    channels.open('c', hear);
    const [subscriber] = made;
    subscriber!.become('ready');
    await settled();
    return subscriber!;
  }

  it('are heard once the server has confirmed them, which whoever listens is told', async () => {
    channels.open('c', hear);
    const [subscriber] = made;
    expect(subscriber!.asked).toEqual([]);
    expect(channels.isOpen('c')).toBe(true);
    expect(channels.isLive('c')).toBe(false);
    subscriber!.become('ready');
    await settled();
    expect(channels.isLive('c')).toBe(true);
    subscriber!.emit('message', 'c', 'something');
    expect(heard).toEqual([undefined, 'something']);
    channels.open('d', () => undefined);
    expect(made).toHaveLength(1);
    expect(subscriber!.asked).toEqual(['c', 'd']);
  });

  it('are not heard from when the connection closes until they are confirmed anew', async () => {
    const subscriber = await opened();
    subscriber.become('close');
    expect(channels.isLive('c')).toBe(false);
    expect(channels.isOpen('c')).toBe(true);
    subscriber.become('ready');
    expect(channels.isLive('c')).toBe(false);
    await settled();
    expect(channels.isLive('c')).toBe(true);
    expect(heard).toEqual([undefined, undefined]);
  });

  it('without access are never heard', async () => {
    channels.open('c', hear);
    made[0]!.refuses = true;
    made[0]!.become('ready');
    await settled();
    expect(channels.isLive('c')).toBe(false);
    expect(heard).toEqual([]);
  });

  it('that were left meanwhile are not heard, though the server confirms them', async () => {
    const subscriber = await opened();
    channels.open('d', hear);
    channels.leave(['d']);
    await settled();
    expect(channels.isLive('d')).toBe(false);
    expect(heard).toEqual([undefined]);
    expect(subscriber.asked).toEqual(['c', 'd', 'not d']);
  });

  it('take no connection any more once they are closed', async () => {
    channels.close();
    channels.open('c', hear);
    expect(made).toEqual([]);
    expect(channels.isLive('c')).toBe(false);
  });
});
