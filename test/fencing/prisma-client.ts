import { PrismaPg } from '@prisma/adapter-pg';
import { getPrismaClient, type GetPrismaClientConfig } from '@prisma/client/runtime/client';

const RUNTIME = '@prisma/client/runtime/query_compiler_fast_bg.postgresql';

/**
 * What `prisma generate` writes for a schema without models, version 7.10: a client for raw SQL. By hand, since the generator fetches an engine from where
 * a test may not go.
 */
const config: GetPrismaClientConfig = {
  previewFeatures: [],
  clientVersion: '7.10.0',
  engineVersion: '',
  activeProvider: 'postgresql',
  inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: 'AAAA' },
  compilerWasm: {
    getRuntime: () => import(`${RUNTIME}.mjs`),
    getQueryCompilerWasmModule: async () => {
      const { wasm } = (await import(`${RUNTIME}.wasm-base64.mjs`)) as { wasm: string };
      const { WebAssembly } = globalThis as any;
      return new WebAssembly.Module(Buffer.from(wasm, 'base64'));
    },
    importName: './query_compiler_fast_bg.js',
  },
};

interface RawSql {
  $queryRawUnsafe(sql: string, ...params: any[]): Promise<any>;
}

export interface PrismaClient extends RawSql {
  $transaction<T>(work: (tx: RawSql) => Promise<T>): Promise<T>;
  $disconnect(): Promise<void>;
}

export function openPrisma(connectionString: string): PrismaClient {
  const Client = getPrismaClient(config) as unknown as new (options: object) => PrismaClient;
  return new Client({ adapter: new PrismaPg({ connectionString }) });
}
