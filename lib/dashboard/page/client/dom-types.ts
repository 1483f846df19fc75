/**
 * What the page uses of a browser. TypeScript's own library for it would declare `Lock`, `LockManager` and `name` as globals of the whole package, where a forgotten import
 * would go unnoticed.
 */
export interface PageNode {
  readonly nextSibling: PageNode | null;
}

export interface PageElement extends PageNode {
  textContent: string | null;
  hidden: boolean;
  className: string;
  tabIndex: number;
  value: string;
  disabled: boolean;
  scrollTop: number;
  readonly clientHeight: number;
  readonly clientWidth: number;
  readonly firstChild: PageNode | null;
  readonly style: { setProperty(name: string, value: string): void };
  append(...nodes: (PageElement | string)[]): void;
  replaceChildren(...nodes: (PageElement | string)[]): void;
  insertBefore(node: PageElement, before: PageNode | null): void;
  remove(): void;
  contains(other: PageElement | null): boolean;
  setAttribute(name: string, value: string): void;
  getAttribute(name: string): string | null;
  addEventListener(name: string, listener: (event: PageEvent) => void, options?: { passive: boolean }): void;
  focus(options?: { preventScroll: boolean }): void;
  select(): void;
  scrollIntoView(options: { block: 'nearest' }): void;
  /** Of a dialog. */
  showModal(): void;
  close(): void;
  readonly open: boolean;
}

export interface PageEvent {
  readonly key: string;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  /** Of a message. */
  readonly data: string;
  preventDefault(): void;
}

export interface PageDocument {
  readonly activeElement: PageElement | null;
  readonly hidden: boolean;
  createElement(tag: string): PageElement;
  createElementNS(namespace: string, tag: string): PageElement;
  getElementById(id: string): PageElement | null;
  addEventListener(name: string, listener: (event: PageEvent) => void): void;
}

export interface PageEventSource {
  readonly readyState: number;
  onmessage: ((event: PageEvent) => void) | null;
  onerror: (() => void) | null;
  close(): void;
}

export interface PageReply {
  readonly ok: boolean;
  readonly status: number;
  json(): Promise<unknown>;
}

export interface PageWindow {
  readonly document: PageDocument;
  readonly location: { readonly pathname: string };
  readonly EventSource: new (url: string) => PageEventSource;
  matchMedia(query: string): { readonly matches: boolean };
  fetch(url: string, init: object): Promise<PageReply>;
  setTimeout(callback: () => void, ms: number): number;
  clearTimeout(timer: number): void;
  setInterval(callback: () => void, ms: number): number;
  requestAnimationFrame(callback: () => void): number;
  addEventListener(name: string, listener: () => void): void;
}
