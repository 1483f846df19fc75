import { describe, expect, it } from '@jest/globals';
import { chartOf } from '../../bench/chart.js';
import { row, table } from './fixtures.js';

const svg = chartOf(
  table([
    row('bare', 'limit', { ratio: 1 }),
    row('us & <you>', 'ours', { ratio: 0.5 }),
    row('absent', 'peer', { ratio: null }),
  ]),
);

function widths(text: string): number[] {
  return [...text.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map(([, width]) => Number(width));
}

describe('a chart', () => {
  it('draws a bar for each figure, as long as the figure is large', () => {
    const [bare = 0, us = 0, ...others] = widths(svg);
    expect(others).toEqual([]);
    expect(us / bare).toBeCloseTo(0.5, 2);
  });

  it('prints the figures, and says what is better', () => {
    expect(svg).toContain('>1.00</text>');
    expect(svg).toContain('>0.50</text>');
    expect(svg).toContain('time, ratio; lower is better');
  });

  it('tells those who cannot see it its title and its figures', () => {
    expect(svg).toContain('<title id="title">A &amp; B &lt;1 node&gt;</title>');
    expect(svg).toContain('bare 1.00, us &amp; &lt;you&gt; 0.50</desc>');
  });

  it('has colours of its own for dark pages', () => {
    const [light = '', dark = ''] = svg.split('@media(prefers-color-scheme:dark)');
    const colourOf = (part: string, name: string): string | undefined =>
      new RegExp(`\\.${name}\\{fill:(#\\w+)`).exec(part)?.[1];
    for (const name of ['text', 'quiet', 'ours', 'peer', 'limit']) {
      expect(colourOf(dark, name)).toMatch(/^#/);
      expect(colourOf(dark, name)).not.toBe(colourOf(light, name));
    }
  });

  it('stays within the picture, whatever the figures are', () => {
    const long = chartOf(table([row('a', 'peer', { ratio: 12_345_678 }), row('b', 'peer', { ratio: -1 })]));
    for (const width of widths(long)) expect(width).toBeLessThanOrEqual(820);
    expect(Math.min(...widths(long))).toBeGreaterThan(0);
  });

  it('refuses to show a column that the table has not', () => {
    expect(() => chartOf(table([], { chart: { column: 'speed', better: 'higher' } }))).toThrow('no column');
  });
});
