import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { findChromium } from '../../scripts/find-servers.mjs';

/** It talks to nobody but the pages it is told to open. */
const ALONE = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
];

/** A real Chromium without a window. It ends with the process that started it. */
export class TestBrowser {
  private constructor(private readonly browser: Browser) {}

  static async start(): Promise<TestBrowser> {
    const executablePath = findChromium();
    if (!executablePath) throw new Error('Chromium was not found: run `node scripts/setup.mjs --browser`');
    // As root there is no sandbox to be had.
    const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    return new TestBrowser(await chromium.launch({ executablePath, args: [...ALONE, ...sandbox, '--disable-gpu'] }));
  }

  /** A page of its own, that shares nothing with others. What went wrong on it stands in `faults`. */
  async open(url: string, options: BrowserContextOptions = {}): Promise<{ page: Page; faults: Faults }> {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    const faults = new Faults(page, new URL(url).origin);
    await page.addInitScript(
      'addEventListener("securitypolicyviolation", ({ violatedDirective }) => console.error(`CSP: ${violatedDirective}`))',
    );
    await page.goto(url);
    return { page, faults };
  }

  async stop(): Promise<void> {
    await this.browser.close();
  }
}

/** Errors of a page, what its policy stopped, and what it asked others for. */
export class Faults {
  readonly list: string[] = [];

  constructor(page: Page, origin: string) {
    page.on('pageerror', (error) => this.list.push(`error: ${error.message}`));
    page.on('console', (message) => {
      if (message.type() === 'error') this.list.push(`console: ${message.text()}`);
    });
    page.on('dialog', (dialog) => {
      this.list.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      if (!/^(data:|blob:)/.test(request.url()) && new URL(request.url()).origin !== origin) {
        this.list.push(`request: ${request.url()}`);
      }
    });
  }
}
