import { execFile } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findOpenssl } from '../../scripts/find-servers.mjs';
import { removeFolder } from './managed-process.js';

export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

const run = promisify(execFile);

/** An authority of one test, whom nobody else trusts, and what it signs. */
export class CertificateAuthority {
  private constructor(
    private readonly folder: string,
    readonly own: Certificate,
  ) {}

  static async create(): Promise<CertificateAuthority> {
    const folder = await mkdtemp(join(tmpdir(), 'ca-'));
    const constraints = ['-addext', 'basicConstraints=critical,CA:TRUE'];
    return new CertificateAuthority(folder, await issue(folder, 'authority', constraints));
  }

  /** For a server or client with these names: `DNS:localhost`, `IP:127.0.0.1`. */
  sign(name: string, ...subjects: string[]): Promise<Certificate> {
    const { certFile, keyFile } = this.own;
    const names = subjects.length > 0 ? ['-addext', `subjectAltName=${subjects.join()}`] : [];
    return issue(this.folder, name, ['-CA', certFile, '-CAkey', keyFile, ...names]);
  }

  remove(): Promise<void> {
    return removeFolder(this.folder);
  }
}

async function issue(folder: string, name: string, options: readonly string[]): Promise<Certificate> {
  const openssl = findOpenssl();
  if (!openssl) throw new Error('openssl was not found: run `node scripts/setup.mjs`');
  const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)] as const;
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  await run(openssl, ['req', '-x509', ...newKey, '-subj', `/CN=${name}`, '-days', '2', '-out', certFile, ...options]);
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  return { certFile, keyFile, cert, key };
}
