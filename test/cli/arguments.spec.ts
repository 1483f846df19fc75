import { describe, expect, it } from '@jest/globals';
import { OPTIONS, parseArguments } from '../../lib/cli/arguments.js';
import { secretsOf, toPlaces } from '../../lib/cli/open-store.js';
import { USAGE, UsageError } from '../../lib/cli/usage.js';

const parse = (line: string) => parseArguments(line.split(' ').filter(Boolean));

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as Error).message;
  }
  throw new Error('it was not refused');
}

describe('The arguments of the command line', () => {
  it('are read for every command', () => {
    expect(parse('ls --prefix job: --json --node redis://a --node redis://b')).toMatchObject({
      ...{ command: 'ls', prefix: 'job:', json: true, nodes: ['redis://a', 'redis://b'] },
    });
    expect(parse('inspect job:a')).toMatchObject({ command: 'inspect', key: 'job:a', json: false });
    expect(parse('release job:a -y --fallback')).toMatchObject({ command: 'release', yes: true, fallback: true });
    expect(parse('run job:a --ttl 30 --wait 10s --min-hold .5 -- tool --ttl 5 -- x')).toMatchObject({
      ...{ command: 'run', key: 'job:a', ttl: 30, wait: '10s', minHold: 0.5 },
      program: ['tool', '--ttl', '5', '--', 'x'],
    });
  });

  it('leave what follows -- to the command', () => {
    expect(parse('run a -- tool --help')).toMatchObject({ program: ['tool', '--help'] });
  });

  it('ask for help', () => {
    for (const line of ['', '--help', '-h', 'run --help']) expect(parse(line)).toBeUndefined();
  });

  it.each([
    ['rm a', 'unknown command'],
    ['ls a', 'takes no key'],
    ['inspect', 'takes one key'],
    ['release a b', 'takes one key'],
    ['run a', 'after --'],
    ['run -- tool', 'takes one key'],
    ['ls -- tool', 'runs no command'],
    ['ls --ttl 5', '--ttl is not for ls'],
    ['run a --json -- tool', '--json is not for run'],
    ['ls --prefx a', "Unknown option '--prefx'"],
    ['run a --ttl', '--ttl'],
  ])('are refused where they make no sense: %s', (line, message) => {
    expect(refusal(() => parse(line))).toContain(message);
  });

  it('are all in the usage', () => {
    for (const name of Object.keys(OPTIONS)) expect(USAGE).toContain(`--${name}`);
  });
});

describe('Where the locks are', () => {
  const args = (line: string) => parse(line)!;
  const env = { REDIS_NODES: ' redis://a:1, redis://b:2,redis://c:3 ', DATABASE_URL: 'postgres://db' };

  it('is told by flags, or else by the environment: Redis, or else PostgreSQL, or both', () => {
    expect(toPlaces(args('ls --node redis://x'), env)).toEqual({ nodes: ['redis://x'], database: undefined });
    expect(toPlaces(args('ls'), env)).toEqual({
      nodes: ['redis://a:1', 'redis://b:2', 'redis://c:3'],
      database: undefined,
    });
    expect(toPlaces(args('ls'), { DATABASE_URL: 'postgres://db' })).toEqual({ nodes: [], database: 'postgres://db' });
    expect(toPlaces(args('ls --fallback'), env)).toMatchObject({ database: 'postgres://db', nodes: { length: 3 } });
  });

  it('has to be told', () => {
    expect(refusal(() => toPlaces(args('ls'), {}))).toContain('DATABASE_URL');
    expect(refusal(() => toPlaces(args('ls --fallback'), { DATABASE_URL: 'postgres://db' }))).toContain('both');
  });

  it.each(['http://u:hunter22@h', 'redis:u:hunter22@h', 'redis://u:hunter22@h:port', 'hunter22'])(
    'is no place such as %s, and no message shows that',
    (node) => {
      const message = refusal(() => toPlaces(args(`ls --node ${node}`), {}));
      expect(message).toContain('node 1 is no URL');
      expect(message).not.toContain('hunter22');
    },
  );

  it('has passwords, known in every way they are written', () => {
    const places = { nodes: ['redis://u:p%40ss1@h', 'redis://h?password=other1'], database: 'postgres://u:third1@h/d' };
    expect(secretsOf(places)).toEqual(expect.arrayContaining(['p%40ss1', 'p@ss1', 'other1', 'third1']));
  });
});
