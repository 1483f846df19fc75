import { describe, expect, it } from '@jest/globals';
import { ProcessFigures } from '../../lib/dashboard/process-figures.js';

const START = 1_000_000_000;

describe('The figures of a process', () => {
  it('sort grants by how long they took', () => {
    const figures = new ProcessFigures();
    for (const ms of [0, 1, 1.5, 2999, 3000, 3001, 30_000, 30_001]) figures.waited(ms);
    expect(figures.at(START).waits).toEqual([2, 1, 0, 0, 0, 0, 0, 2, 1, 1, 1]);
  });

  it('count the calls of the last ten minutes in stretches of ten seconds', () => {
    const figures = new ProcessFigures();
    figures.count('busy', { label: 'a' }, START);
    figures.count('waiting', { label: 'a' }, START + 9_999);
    figures.count('granted', { label: 'a' }, START + 10_000);
    const { slots } = figures.at(START + 10_000);
    expect(slots).toHaveLength(60);
    expect(slots.slice(-2)).toEqual([
      { from: START, ms: 10_000, granted: 0, waiting: 1, busy: 1, unavailable: 0 },
      { from: START + 10_000, ms: 10_000, granted: 1, waiting: 0, busy: 0, unavailable: 0 },
    ]);
    const later = figures.at(START + 605_000).slots;
    expect(later.map(({ busy }) => busy).reduce((a, b) => a + b)).toBe(0);
    expect(later[0]).toMatchObject({ from: START + 10_000, granted: 1 });
  });

  it('differ in version when they differ, and when time has moved on', () => {
    const figures = new ProcessFigures();
    const first = figures.versionAt(START);
    expect(figures.versionAt(START + 5000)).toBe(first);
    expect(figures.versionAt(START + 10_000)).not.toBe(first);
    figures.count('granted', { label: 'a' }, START);
    expect(figures.versionAt(START)).not.toBe(first);
  });

  it('name what is fought for most, first', () => {
    const figures = new ProcessFigures();
    for (let i = 0; i < 5; i++) figures.count('granted', { label: 'calm' }, START);
    figures.count('busy', { label: 'fought' }, START);
    figures.count('unavailable', { label: undefined }, START);
    expect(figures.at(START).labels.map(({ label }) => label)).toEqual(['fought', 'calm', '(no label)']);
  });

  it('stay small, however many labels, losses and hours there are', () => {
    const figures = new ProcessFigures();
    for (let i = 0; i < 10_000; i++) {
      figures.count('busy', { label: `label:${i}` }, START + i * 10_000);
      figures.lose({ at: START + i, key: `key:${i}`, token: i, heldMs: 1, reason: 'taken' });
    }
    const { labels, losses, lost, slots } = figures.at(START + 10_000 * 10_000);
    expect([labels.length, losses.length, lost, slots.length]).toEqual([10, 50, 10_000, 60]);
    expect(labels[0]).toMatchObject({ label: 'others', busy: 9_900 });
    expect(losses.at(-1)).toMatchObject({ key: 'key:9999' });
  });
});
