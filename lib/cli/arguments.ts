import { parseArgs } from 'node:util';
import type { Duration } from '../duration.js';
import { UsageError } from './usage.js';

export type CommandName = 'ls' | 'inspect' | 'release' | 'run';

/** What was asked for on the command line. */
export interface Arguments {
  readonly command: CommandName;
  /** Of all but `ls`. */
  readonly key: string;
  readonly nodes: readonly string[];
  readonly fallback: boolean;
  readonly json: boolean;
  readonly yes: boolean;
  readonly prefix: string | undefined;
  readonly nodeTimeout: Duration | undefined;
  readonly ttl: Duration | undefined;
  readonly wait: Duration | undefined;
  readonly minHold: Duration | undefined;
  readonly maxHold: Duration | undefined;
  readonly grace: Duration | undefined;
  readonly quarantine: Duration | undefined;
  /** Of `run`: what follows the `--`. */
  readonly program: readonly string[];
}

const TEXT = { type: 'string' } as const;
const FLAG = { type: 'boolean' } as const;

/** Every option, and the commands that it is for. */
export const OPTIONS = {
  node: { ...TEXT, multiple: true, for: ['ls', 'inspect', 'release', 'run'] },
  fallback: { ...FLAG, for: ['ls', 'inspect', 'release', 'run'] },
  'node-timeout': { ...TEXT, for: ['ls', 'inspect', 'release', 'run'] },
  json: { ...FLAG, for: ['ls', 'inspect'] },
  prefix: { ...TEXT, for: ['ls'] },
  yes: { ...FLAG, short: 'y', for: ['release'] },
  ttl: { ...TEXT, for: ['run'] },
  wait: { ...TEXT, for: ['run'] },
  'min-hold': { ...TEXT, for: ['run'] },
  'max-hold': { ...TEXT, for: ['run'] },
  grace: { ...TEXT, for: ['run'] },
  quarantine: { ...TEXT, for: ['run'] },
} as const;

const COMMANDS: readonly string[] = ['ls', 'inspect', 'release', 'run'];
const SECONDS = /^(?:\d+(?:\.\d+)?|\.\d+)$/;

/** Undefined: help is wanted. @throws UsageError */
export function parseArguments(args: readonly string[]): Arguments | undefined {
  const end = args.indexOf('--');
  const own = end < 0 ? args : args.slice(0, end);
  const { values, positionals } = parse(own);
  if (values.help || own.length === 0) return undefined;
  const [command = '', ...rest] = positionals;
  if (!COMMANDS.includes(command)) throw new UsageError(`unknown command; there are ${COMMANDS.join(', ')}`);
  for (const [name, { for: commands }] of Object.entries(OPTIONS)) {
    if (!(name in values) || (commands as readonly string[]).includes(command)) continue;
    throw new UsageError(`--${name} is not for ${command}`);
  }
  const [key = '', ...more] = rest;
  if (command === 'ls' ? rest.length > 0 : key === '' || more.length > 0) {
    throw new UsageError(command === 'ls' ? 'ls takes no key; give --prefix' : `${command} takes one key`);
  }
  const program = end < 0 ? [] : args.slice(end + 1);
  if ((command === 'run') !== program.length > 0) {
    throw new UsageError(command === 'run' ? 'give the command to run after --' : `${command} runs no command`);
  }
  return {
    command: command as CommandName,
    key,
    nodes: values.node ?? [],
    fallback: values.fallback ?? false,
    json: values.json ?? false,
    yes: values.yes ?? false,
    prefix: values.prefix,
    nodeTimeout: duration(values['node-timeout']),
    ttl: duration(values.ttl),
    wait: duration(values.wait),
    minHold: duration(values['min-hold']),
    maxHold: duration(values['max-hold']),
    grace: duration(values.grace),
    quarantine: duration(values.quarantine),
    program,
  };
}

function parse(args: readonly string[]) {
  const options = { ...OPTIONS, help: { type: 'boolean', short: 'h' } } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    // Its first sentence says what is wrong; the rest is about dashes.
    throw new UsageError((error as Error).message.split(/\.\s/)[0]!);
  }
}

function duration(text: string | undefined): Duration | undefined {
  return text !== undefined && SECONDS.test(text) ? Number(text) : text;
}
