const { join } = require('node:path');

/** What Nest looks for and does without; the optional packages of this one need no mention. */
const OF_NEST = /^(@nestjs\/(microservices|websockets)|class-validator|class-transformer)/;

/** Everything in one file, as for a serverless function. */
module.exports = (options, { IgnorePlugin }) => ({
  ...options,
  externals: [],
  output: { ...options.output, path: join(__dirname, 'dist-webpack') },
  plugins: [...options.plugins, new IgnorePlugin({ checkResource: (name) => OF_NEST.test(name) })],
});
