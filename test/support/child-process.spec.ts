import { afterEach, describe, expect, it } from '@jest/globals';
import { ChildProcess } from './child-process.js';

describe('ChildProcess', () => {
  let pod: ChildProcess | undefined;
  const start = async (): Promise<ChildProcess> => {
    pod = await ChildProcess.start(new URL('./fixtures/decorated-pod.ts', import.meta.url), {
      env: { POD_NAME: 'pod-1' },
      args: ['--once'],
    });
    return pod;
  };

  afterEach(() => pod?.kill());

  it('runs TypeScript with decorators, their metadata and relative imports', async () => {
    expect(await (await start()).next()).toEqual({
      type: 'compiled',
      parameters: ['Number', 'Customer'],
      greeting: 'hello from TypeScript',
    });
  });

  it('talks both ways, with its own environment and arguments', async () => {
    const child = await start();
    child.send({ type: 'first' });
    child.send({ type: 'second' });
    const second = await child.next((reply) => reply.message?.type === 'second');
    expect(second).toMatchObject({ pod: 'Pod', args: ['--once'], env: 'pod-1' });
    expect(await child.next()).toMatchObject({ type: 'compiled' });
    expect(await child.next()).toMatchObject({ message: { type: 'first' } });
  });

  it('hears nothing while frozen and everything after', async () => {
    const child = await start();
    await child.next();
    child.freeze();
    child.send({ type: 'late' });
    await expect(child.next(undefined, 100)).rejects.toThrow('ran for 100 ms');
    child.thaw();
    expect(await child.next()).toMatchObject({ message: { type: 'late' } });
  });

  it('reports the output of a child that ended instead of answering', async () => {
    const child = await start();
    await child.next();
    child.send({ type: 'crash' });
    await expect(child.next()).rejects.toThrow(/the pod gave up[\s\S]*decorated-pod\.ts:17:/);
    expect(await child.exited).toEqual({ code: 1, signal: null });
  });

  it('can be killed while frozen', async () => {
    const child = await start();
    child.freeze();
    expect(await child.kill()).toEqual({ code: null, signal: 'SIGKILL' });
  });
});
