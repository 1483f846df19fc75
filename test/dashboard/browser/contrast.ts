import type { Page } from 'playwright-core';

/** After WCAG 2.2, 1.4.3: 4.5 between a text and what is behind it. Returns the texts that fall short. */
export function contrastFaults(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(${String(look)})()`);
}

/** Runs in the browser. */
function look(): string[] {
  const { document, getComputedStyle, NodeFilter } = globalThis as any;
  const LEAST = 4.5;

  const parse = (colour: string): number[] => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (colour: number[]): number => {
    const [red, green, blue] = colour.slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  };
  const groundOf = (element: any): number[] => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3]! > 0) return colour;
    }
    return [255, 255, 255];
  };

  const faults: string[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const isSeen = element.checkVisibility() && element.getBoundingClientRect().width > 1;
    if (!isSeen || node.textContent.trim() === '' || /^(SCRIPT|STYLE|title)$/.test(element.tagName)) continue;
    const style = getComputedStyle(element);
    const isDrawn = element.namespaceURI.endsWith('/svg');
    const [one, other] = [luminance(parse(isDrawn ? style.fill : style.color)), luminance(groundOf(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < LEAST)
      faults.push(
        `${contrast.toFixed(2)}: ${node.textContent.trim().slice(0, 40)} (${element.className?.baseVal ?? element.className})`,
      );
  }
  return [...new Set(faults)];
}
