import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import type { Faults, TestBrowser } from '../../support/browser.js';
import { eventually } from '../../support/eventually.js';

/** The dashboard as a person finds their way on it: by what is written there. */
export class DashboardPage {
  private constructor(
    readonly page: Page,
    readonly faults: Faults,
  ) {}

  static async open(browser: TestBrowser, url: string, options?: BrowserContextOptions): Promise<DashboardPage> {
    const { page, faults } = await browser.open(url, options);
    await page.getByText('live', { exact: true }).waitFor();
    return new DashboardPage(page, faults);
  }

  get rows(): Locator {
    return this.page.locator('#canvas').getByRole('row');
  }

  get detail(): Locator {
    return this.page.locator('#detail');
  }

  get dialog(): Locator {
    return this.page.getByRole('dialog');
  }

  get search(): Locator {
    return this.page.getByRole('searchbox');
  }

  row(key: string): Locator {
    return this.rows.filter({ has: this.page.getByText(key, { exact: true }) });
  }

  /** Resolves once the table says that it has so many. */
  async counts(text: string): Promise<void> {
    await this.page.locator('#count').getByText(text, { exact: true }).waitFor();
  }

  /** Resolves once the row of this key has this text somewhere. */
  async rowSays(key: string, text: string): Promise<void> {
    await this.row(key).filter({ hasText: text }).waitFor();
  }

  async gone(key: string): Promise<void> {
    await this.row(key).waitFor({ state: 'detached' });
  }

  async open(key: string): Promise<void> {
    await this.row(key).click();
    await this.detail.getByRole('heading', { name: key, exact: true }).waitFor();
  }

  /** What the keyboard is on: the id of the element, or the key of the row. */
  async focused(): Promise<string> {
    return this.page.evaluate<string>(
      'document.activeElement.querySelector(":scope > .key > .text")?.textContent ?? document.activeElement.id',
    );
  }

  async focusIsOn(what: string): Promise<void> {
    await eventually(async () => {
      const focused = await this.focused();
      if (focused !== what) throw new Error(`The focus is on ${focused || 'nothing'}, not on ${what}`);
    });
  }

  /** A number of the tiles at the top. */
  async tile(id: 'held' | 'waiting' | 'late' | 'lost'): Promise<number> {
    return Number((await this.page.locator(`#tile-${id}`).textContent())!.replace(/,/g, ''));
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
