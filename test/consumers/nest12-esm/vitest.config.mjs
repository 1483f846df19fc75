import swc from 'unplugin-swc';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { include: ['vitest/**/*.test.ts'], environment: 'node' },
  // Nest injects by the types of parameters, which only a compiler writes out.
  plugins: [swc.vite({ module: { type: 'es6' } })],
});
