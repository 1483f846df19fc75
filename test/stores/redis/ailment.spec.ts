import { describe, expect, it } from '@jest/globals';
import { CLOSED, toFailure } from '../../../lib/stores/redis/ailment.js';
import { CONNECTION_LOST, reason, toReply } from '../../../lib/stores/redis/script-answer.js';

const SCRIPT_OF_REDIS_6 = 'ERR Error running script (call to f_0b0c): @user_script:1: @user_script: 1: -';

describe('What is wrong with a node', () => {
  it.each([
    'NOAUTH Authentication required.',
    'not connected (WRONGPASS invalid username-password pair or user is disabled.)',
    "NOPERM this user has no permissions to run the 'evalsha' command",
    "OOM command not allowed when used memory > 'maxmemory'.",
    'MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist on disk.',
    "ERR unknown command 'EVALSHA'",
    "not connected (Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: )",
    'not connected (self-signed certificate in certificate chain)',
    CLOSED,
  ])('lasts: %s', (said) => {
    expect(toFailure('a', said)).toEqual({ node: 'a', reason: said, lasting: true });
  });

  it.each([
    "READONLY You can't write against a read only replica.",
    'not connected (LOADING Redis is loading the dataset in memory)',
    'BUSY Redis is busy running a script.',
    'CLUSTERDOWN The cluster is down',
    'NOREPLICAS Not enough good replicas to write.',
    'MASTERDOWN Link with MASTER is down',
    'not connected (ERR max number of clients reached)',
    'not connected (connect ECONNREFUSED 127.0.0.1:6379)',
    'no answer within 50 ms',
    'not answering',
    CONNECTION_LOST,
  ])('may pass: %s', (said) => {
    expect(toFailure('a', said)).toEqual({ node: 'a', reason: said });
  });

  it.each([
    [`${SCRIPT_OF_REDIS_6}READONLY You can't write against a read only replica.`, "READONLY You can't write"],
    [`${SCRIPT_OF_REDIS_6}OOM command not allowed`, 'OOM command not allowed'],
    ['Too many Cluster redirections. Last error: ReplyError: CLUSTERDOWN The cluster is down', 'CLUSTERDOWN The'],
    ['ERR Error running script without a word of a command', 'ERR Error running script'],
  ])('is told without what comes before it: %s', (said, begins) => {
    expect(reason(new Error(said)).startsWith(begins)).toBe(true);
    expect(toReply([-1, said])).toEqual(expect.stringMatching(new RegExp(`^${begins}`)));
  });
});
