/** Everything of the package in one file, as for a serverless function. Nest itself, which has optional packages of its own, stays outside. */
import { build } from 'esbuild';

const options = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  external: ['@nestjs/*', 'rxjs', 'reflect-metadata'],
  logLevel: 'error',
};

await build({ ...options, entryPoints: ['dist/main.js'], format: 'esm', minify: true, outfile: 'bundle/main.mjs' });
await build({
  ...options,
  ...{ entryPoints: ['without-peers.cjs'], format: 'cjs', minify: true, keepNames: true },
  outfile: 'bundle/without-peers.cjs',
});
await build({
  ...options,
  ...{ entryPoints: ['dashboard.cjs'], format: 'cjs', minify: true, keepNames: true, target: 'es2017' },
  outfile: 'bundle/dashboard.cjs',
});
