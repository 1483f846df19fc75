import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from '@jest/globals';
import { LockOptionsError } from '../lib/errors.js';
import { EventHub } from '../lib/event-hub.js';
import type { LockEventMap } from '../lib/lock-events.js';

const UP: LockEventMap['nodeUp'] = { manager: 'default', node: 'a:6379' };

function hub() {
  const log: string[] = [];
  return { log, events: new EventHub((message) => log.push(message)) };
}

describe('The events of a manager', () => {
  it('go to each who listens, in the order in which they came, until they listen no more', () => {
    const { events } = hub();
    const heard: string[] = [];
    const stops = ['a', 'b'].map((who) => events.on('nodeUp', ({ node }) => heard.push(`${who} ${node}`)));
    events.tell('nodeUp', UP);
    stops[0]!();
    stops[0]!();
    events.tell('nodeUp', UP);
    expect(heard).toEqual(['a a:6379', 'b a:6379', 'b a:6379']);
  });

  it('are heard while anyone listens, here or on the channel of the process', () => {
    const { events } = hub();
    expect(events.hears('nodeUp')).toBe(false);
    const stop = events.on('nodeUp', () => undefined);
    expect(events.hears('nodeUp')).toBe(true);
    expect(events.hears('nodeDown')).toBe(false);
    stop();
    expect(events.hears('nodeUp')).toBe(false);

    const heard: unknown[] = [];
    const onMessage = (message: unknown): void => void heard.push(message);
    subscribe('nestjs-fenced-lock:nodeUp', onMessage);
    expect(events.hears('nodeUp')).toBe(true);
    events.tell('nodeUp', UP);
    unsubscribe('nestjs-fenced-lock:nodeUp', onMessage);
    expect(events.hears('nodeUp')).toBe(false);
    expect(heard).toEqual([UP]);
  });

  it('reach one who listens twice with the same function twice, and once after one end', () => {
    const { events } = hub();
    let heard = 0;
    const listener = (): void => void heard++;
    const [stop] = [events.on('nodeUp', listener), events.on('nodeUp', listener)];
    events.tell('nodeUp', UP);
    expect(heard).toBe(2);
    stop();
    events.tell('nodeUp', UP);
    expect(heard).toBe(3);
  });

  it('do not fail with a listener that throws or rejects: the log says so, and the others are told', async () => {
    const { events, log } = hub();
    let heard = 0;
    events.on('nodeUp', () => {
      throw new Error('broken');
    });
    events.on('nodeUp', (async () => Promise.reject(new Error('later'))) as () => void);
    events.on('nodeUp', () => heard++);
    events.tell('nodeUp', UP);
    await new Promise(setImmediate);
    expect(heard).toBe(1);
    expect(log).toEqual(['A listener to nodeUp threw: Error: broken', 'A listener to nodeUp threw: Error: later']);
  });

  it('have names, and a listener is a function', () => {
    const { events } = hub();
    expect(() => events.on('grabbed' as never, () => undefined)).toThrow(LockOptionsError);
    expect(() => events.on('grabbed' as never, () => undefined)).toThrow(/"grabbed".*known are granted, waiting/);
    expect(() => events.on('toString' as never, () => undefined)).toThrow(LockOptionsError);
    expect(() => events.on('lost', 7 as never)).toThrow(/Invalid listener 7/);
  });
});
