import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** @type {import('eslint').Linter.RulesRecord} */
const everywhere = {
  eqeqeq: ['error', 'always', { null: 'ignore' }],
  '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
  '@typescript-eslint/no-unused-expressions': ['error', { allowTernary: true, allowShortCircuit: true }],
};

/** Prettier owns the layout; the compiler owns unused names and implicit any; what is left here finds mistakes at run time. */
export default defineConfig(
  { ignores: ['**/dist/**', 'coverage', 'test/consumers/**', 'test/tmp/**'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unnecessary-type-assertion': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      ...everywhere,
      'no-console': 'error',
      'no-constant-condition': ['error', { checkLoops: false }],
      'prefer-const': 'error',
    },
  },
  { files: ['test/**'], rules: { '@typescript-eslint/unbound-method': 'off' } },
  { files: ['**/*.{mjs,cjs}', 'sample/**', 'bench/**', 'test/**'], rules: { 'no-console': 'off' } },
  {
    files: ['**/*.{mjs,cjs}'],
    extends: [...tseslint.configs.recommended],
    rules: { ...everywhere, '@typescript-eslint/no-require-imports': 'off' },
  },
);
