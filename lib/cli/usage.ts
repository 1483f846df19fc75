import { EXIT } from './exit-codes.js';

/** Told to whoever called it wrong; the message says what is right. */
export class UsageError extends Error {}

export const USAGE = `Look at locks, take one back, or run a command under one.

  nestjs-fenced-lock ls [--prefix <text>] [--json]
  nestjs-fenced-lock inspect <key> [--json]
  nestjs-fenced-lock release <key> [--yes]
  nestjs-fenced-lock run <key> [options] -- <command> [arguments]

Where the locks are, as in forRoot():
  --node <url>           a Redis; once, or three or five times. Else REDIS_NODES, with commas in between.
  DATABASE_URL           a PostgreSQL, if no Redis is given.
  --fallback             both: DATABASE_URL stands in for the Redis nodes.
  --node-timeout <time>  how long one node may take. Default 50ms, 1s with one node.

Of ls:
  --prefix <text>        only keys that begin with it.
Of release:
  --yes                  do not ask.
Of run:
  --ttl <time>           how long a dead holder blocks the key. Default 30.
  --wait <time>          how long to queue for a busy key. Default 0.
  --min-hold <time>      the key stays taken at least this long after the grant. Default 0.
  --max-hold <time>      the command is ended after this long. Default none.
  --grace <time>         how long a command that lost its lock has between SIGTERM and SIGKILL. Default 5s.
  --quarantine <time>    as in forRoot(). Default the ttl, 0 with one node.

A time is a number of seconds, or has a unit: 30, 500ms, 10m.
The command finds its token in FENCING_TOKEN and its key in LOCK_KEY.

Exit codes:
  of run the command's own, 128 + n if signal n ended it, and
  ${EXIT.nothing}    inspect: the key is free; release: there was nothing to release
  ${EXIT.usage}   called wrong
  ${EXIT.unavailable}   too few nodes answered
  ${EXIT.lost}   the lock was lost, and the command ended
  ${EXIT.busy}   someone else holds the key
  ${EXIT.notExecutable}  the command cannot be run
  ${EXIT.notFound}  the command was not found
`;
