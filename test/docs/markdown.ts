export interface CodeBlock {
  readonly language: string;
  readonly code: string;
  /** Of its first line of code, in the document. */
  readonly line: number;
}

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const FENCED = /^```(\w*)\n([^]*?)^```$/gm;

export function codeBlocks(markdown: string, language: string): CodeBlock[] {
  return [...markdown.matchAll(FENCED)]
    .map(({ 1: name = '', 2: code = '', index }) => ({
      language: name,
      code,
      line: markdown.slice(0, index).split('\n').length + 1,
    }))
    .filter((block) => block.language === language);
}

export function tables(markdown: string): Table[] {
  const groups = withoutCode(markdown).matchAll(/^\|.*\|\n\|[ :|-]+\|\n(?:\|.*\n?)+/gm);
  return [...groups].map(([text]) => {
    const [head = [], _rule, ...rows] = text.trim().split('\n').map(cells);
    return { head, rows };
  });
}

/** Where links lead, those to other sites left out. */
export function relativeLinks(markdown: string): string[] {
  const targets = [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

/** The anchors of the headings, as GitHub makes them. */
export function anchors(markdown: string): string[] {
  const headings = [...withoutCode(markdown).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  );
}

function withoutCode(markdown: string): string {
  return markdown.replace(FENCED, '');
}

function cells(row: string): string[] {
  return row
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}
