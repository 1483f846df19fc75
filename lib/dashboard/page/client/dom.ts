import type { PageDocument, PageElement } from './dom-types.js';

/** Makes elements. Whatever text they get is text: nothing here reads markup. */
export function createDom(document: PageDocument) {
  const SVG = 'http://www.w3.org/2000/svg';

  type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;
  type Content = PageElement | string | undefined;

  function fill(element: PageElement, attributes: Attributes, content: readonly Content[]): PageElement {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined || value === false) continue;
      element.setAttribute(name, value === true ? '' : String(value));
    }
    element.append(...content.filter((part) => part !== undefined));
    return element;
  }

  /** The element of the markup with this id. */
  function byId(id: string): PageElement {
    const element = document.getElementById(id);
    if (!element) throw new Error(`There is no #${id}`);
    return element;
  }

  const html = (tag: string, attributes: Attributes = {}, ...content: Content[]): PageElement =>
    fill(document.createElement(tag), attributes, content);

  const svg = (tag: string, attributes: Attributes = {}, ...content: Content[]): PageElement =>
    fill(document.createElementNS(SVG, tag), attributes, content);

  /** Only if it differs: a screen reader may take every change as news. */
  function say(element: PageElement, text: string): void {
    if (element.textContent !== text) element.textContent = text;
  }

  return { html, svg, byId, say, document };
}

export type Dom = ReturnType<typeof createDom>;
