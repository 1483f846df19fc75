import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';

export interface RedisUser {
  readonly username: string;
  readonly password: string;
}

/** What docs/redis.md gives the user of the locks. */
export const LEAST_RULES: readonly string[] = (() => {
  const page = readFileSync(new URL('../../docs/redis.md', import.meta.url), 'utf8');
  const [, rules] = /^ACL SETUSER locks on >secret (.+)$/m.exec(page) ?? [];
  if (!rules) throw new Error('docs/redis.md has no line ACL SETUSER locks on >secret …');
  return rules.split(' ');
})();

export const LOCKS_USER: RedisUser = { username: 'locks', password: 'secret' };

/** What goes before the host in the URLs of the tests' own servers: with `LOCKS_USER=least` in the environment they lock as the least user. */
export const LOGIN = process.env.LOCKS_USER === 'least' ? `${LOCKS_USER.username}:${LOCKS_USER.password}@` : '';

/** Creates a user on a server, or changes one. */
export async function setUser(
  { port }: { readonly port: number },
  rules: readonly string[],
  user = LOCKS_USER,
): Promise<RedisUser> {
  const admin = new Redis(port, '127.0.0.1');
  await admin
    .call('ACL', 'SETUSER', user.username, 'reset', 'on', `>${user.password}`, ...rules)
    .finally(() => admin.disconnect());
  return user;
}
