import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';

interface LockedPackage {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
  readonly peer?: boolean;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
}

describe('What is installed with the package', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const own = Object.entries(packages).filter(
    ([name, { dev, devOptional, optional, peer }]) => name !== '' && !dev && !devOptional && !optional && !peer,
  );

  it('is one small package, that runs nothing when it is installed', () => {
    expect(own.map(([name]) => name)).toEqual(['node_modules/ms']);
    for (const [, { integrity, hasInstallScript }] of own) {
      expect(integrity).toMatch(/^sha512-/);
      expect(hasInstallScript).toBeUndefined();
    }
  });
});

describe('The audit', () => {
  let registry: Server | undefined;
  afterEach(() => void registry?.close());

  /** With a registry that answers so. */
  async function audit(answer: RequestListener): Promise<{ code: number; said: string }> {
    registry = createServer(answer).listen(0, '127.0.0.1');
    await once(registry, 'listening');
    const { port } = registry.address() as AddressInfo;
    const env = { ...process.env, npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_fetch_retries: '0' };
    return new Promise((resolve) => {
      execFile(process.execPath, ['scripts/audit.mjs'], { env }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), said: stdout + stderr }),
      );
    });
  }

  const advisory = {
    id: 1,
    title: 'told',
    url: 'about:blank',
    severity: 'high',
    vulnerable_versions: '<=2.1.3',
    cwe: [],
    cvss: {},
  };
  /** As much of a package as npm wants to see of those that need one. */
  const packument = (name: string): object => ({ name, versions: {}, 'dist-tags': {} });
  const registryWith =
    (advisories: object): RequestListener =>
    (request, response) => {
      request.resume();
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(request.method === 'POST' ? advisories : packument(request.url!.slice(1))));
    };

  it('passes where nothing is known against what is installed', async () => {
    expect(await audit(registryWith({}))).toEqual({
      code: 0,
      said: expect.stringMatching(/^audit: 0 of \d+ packages are known to be unsafe\n$/),
    });
  });

  it('fails where something is, and names it', async () => {
    const { code, said } = await audit(registryWith({ ms: [advisory] }));
    expect(code).toBe(1);
    expect(said).toContain('audit: ms: high');
  });

  it.each<[string, RequestListener, RegExp]>([
    ['refuses to be asked', (_, response) => response.writeHead(405).end(), /405 /],
    ['hangs up', (request) => request.socket.destroy(), /socket hang up|ECONNRESET/],
  ])('says that it was not done where the registry %s', async (_, answer, why) => {
    const { code, said } = await audit(answer);
    expect(code).toBe(0);
    expect(said).toMatch(/^audit: not done, the registry cannot be asked \(/);
    expect(said).toMatch(why);
  });

  it('fails where npm itself does', async () => {
    const { code, said } = await audit((_, response) => response.end('{"ms": 5}'));
    expect(code).toBe(1);
    expect(said).toMatch(/^audit: /);
  });
});
