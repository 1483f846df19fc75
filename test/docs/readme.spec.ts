import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cleanup } from './cleanup.js';
import { root, typeErrors } from './compiler.js';
import { accountService } from './scenarios/account-service.js';
import { firstExample } from './scenarios/first-example.js';
import { guardedWrite } from './scenarios/guarded-write.js';
import { locksModule } from './scenarios/locks-module.js';
import { testing } from './scenarios/testing.js';
import { threeSteps } from './scenarios/three-steps.js';
import { ticketsController } from './scenarios/tickets-controller.js';
import { Snippets } from './snippets.js';

const folder = join(root, 'test/tmp');
const snippets = new Snippets(readFileSync(join(root, 'README.md'), 'utf8'), folder);

describe('the snippets of the README', () => {
  const afterwards = cleanup();

  beforeAll(() => snippets.write());
  afterAll(() => snippets.remove());

  it('type-check, and one with a mistake would not', async () => {
    const faulty = join(folder, `faulty-${process.pid}.ts`);
    const mistake = `import { WithLock } from 'nestjs-fenced-lock';\nexport const x = WithLock('a', { tll: 30 });\n`;
    await writeFile(faulty, mistake);
    afterwards(() => rm(faulty));

    const errors = typeErrors([...snippets.paths, faulty]);

    expect(errors).toEqual([expect.stringMatching(/faulty-\d+\.ts:2: .*'tll' does not exist/)]);
  });

  firstExample(snippets);
  threeSteps(snippets);
  accountService(snippets);
  ticketsController(snippets);
  guardedWrite(snippets);
  locksModule(snippets);
  testing(snippets);

  it('are each run by exactly one of these tests', () => {
    expect(snippets.claims).toEqual(snippets.blocks.map(() => 1));
  });
});
