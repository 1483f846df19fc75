/**
 * Imports point one way: a file may import from its own layer and from those below it, never from one above.
 * From top to bottom. Each path is a pattern, so that a new file falls under a rule on the day it is written.
 */
const NAMED = {
  cli: 'lib/cli/',
  testing: 'lib/(testing|terminus|dashboard)/',
  index: 'lib/index\\.ts$',
  module: 'lib/[^/]+\\.module\\.ts$',
  nest: 'lib/(nest/|distributed-lock\\.(?!module\\.)|[^/]+\\.(decorator|filter)\\.ts$)',
  manager: 'lib/lock-manager\\.ts$',
  stores: 'lib/(stores|fencing)/',
  foundation: 'lib/(errors|duration|runtime|deadline|key-template|lock-key|lock\\.options)\\.ts$',
};
/** What no other layer claims: locks, watchdog, waiters, context. It knows neither Nest nor the manager. */
const CORE = `(?!${Object.values(NAMED).join('|')})lib/`;

const { cli, testing, index, module: wiring, nest, manager, stores, foundation } = NAMED;
const LAYERS = Object.entries({
  cli,
  testing,
  index,
  module: wiring,
  nest,
  manager,
  core: CORE,
  stores,
  foundation,
}).map(([name, path]) => ({ name, path: `^${path}` }));
const NEST_LAYERS = LAYERS.filter(({ name }) => ['testing', 'index', 'module', 'nest'].includes(name));
/** @param {typeof LAYERS} layers */
const pathsOf = (layers) => layers.map((layer) => layer.path);

const oneWay = LAYERS.slice(1).map((layer, above) => ({
  name: `imports-point-down-from-${layer.name}`,
  comment: `Of lib/, ${layer.name} may import only: ${LAYERS.slice(above + 1)
    .map(({ name }) => name)
    .join(', ')}. Hand it what it needs instead.`,
  severity: 'error',
  from: { path: layer.path },
  to: { path: '^lib/', pathNot: pathsOf(LAYERS.slice(above + 1)) },
}));

/** @param {string} names */
const modules = (names) => `(^|node_modules/)(${names})(/|$)`;

module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'Pass a closure or move what both need into a file of its own.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...oneWay,
    {
      name: 'only-nest-files-know-nest',
      comment: 'Locks and stores are usable without Nest.',
      severity: 'error',
      from: { path: '^lib/', pathNot: pathsOf(NEST_LAYERS) },
      to: { path: modules('@nestjs') },
    },
    {
      name: 'optional-peers-are-loaded-on-demand',
      comment:
        'A static import, of a type too, would make an optional package a required one. Use import() and structural types.',
      severity: 'error',
      from: { path: '^lib/' },
      to: { path: modules('ioredis|iovalkey|pg|@opentelemetry'), dynamic: false },
    },
    {
      name: 'optional-peers-stay-in-their-store',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/stores/(redis|postgres)/' },
      to: { path: modules('ioredis|iovalkey|pg') },
    },
    {
      name: 'telemetry-alone-knows-opentelemetry',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/telemetry/' },
      to: { path: modules('@opentelemetry') },
    },
    {
      name: 'terminus-alone-knows-terminus',
      comment: 'It has an entry point of its own: who imports that has the package.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/terminus/' },
      to: { path: modules('@nestjs/terminus') },
    },
    {
      name: 'no-test-runner-in-lib',
      comment: 'What lib/testing ships runs under any runner.',
      severity: 'error',
      from: { path: '^lib/' },
      to: { path: modules('jest|@jest|@nestjs/testing') },
    },
    {
      name: 'lib-stands-alone',
      severity: 'error',
      from: { path: '^lib/' },
      to: { path: '^(test|sample|bench|scripts|dist)/' },
    },
    {
      name: 'lib-declares-what-it-imports',
      comment: 'Only dependencies, peer dependencies and Node itself are there for a user.',
      severity: 'error',
      from: { path: '^lib/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'],
        dependencyTypesNot: ['npm', 'npm-peer'],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|test/consumers)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
