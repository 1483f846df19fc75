import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeBlocks, type CodeBlock } from './markdown.js';

/** The TypeScript blocks of a document, each of them a file that can be checked, imported and run. */
export class Snippets {
  readonly blocks: readonly CodeBlock[];
  readonly #claims = new Map<CodeBlock, number>();
  #folder = '';

  constructor(
    readonly text: string,
    /** Where to make the folder: below the project, or its packages would not be found. */
    private readonly parent: string,
  ) {
    this.blocks = codeBlocks(text, 'ts');
  }

  /** The one block with this text in it. */
  claim(text: string): { readonly code: string; readonly path: string; load<T>(): Promise<T> } {
    const [block, another] = this.blocks.filter(({ code }) => code.includes(text));
    if (!block || another) throw new Error(`${block ? 'Several blocks contain' : 'No block contains'} ${text}`);
    this.#claims.set(block, (this.#claims.get(block) ?? 0) + 1);
    const pathOf = (): string => this.#path(block);
    return {
      code: block.code,
      get path() {
        return pathOf();
      },
      load: async () => import(pathOf()) as Promise<any>,
    };
  }

  /** For each block, how many have claimed it. */
  get claims(): number[] {
    return this.blocks.map((block) => this.#claims.get(block) ?? 0);
  }

  get paths(): string[] {
    return this.blocks.map((block) => this.#path(block));
  }

  async write(): Promise<void> {
    await mkdir(this.parent, { recursive: true });
    this.#folder = await mkdtemp(join(this.parent, 'readme-'));
    // A snippet starts in the file where it starts in the document: then an error names the line to look at.
    const files = this.blocks.map((block) => [this.#path(block), '\n'.repeat(block.line - 1) + block.code] as const);
    await Promise.all(files.map(([path, text]) => writeFile(path, text)));
  }

  async remove(): Promise<void> {
    if (this.#folder) await rm(this.#folder, { recursive: true, force: true });
  }

  #path(block: CodeBlock): string {
    return join(this.#folder, `block-${this.blocks.indexOf(block) + 1}.ts`);
  }
}
