/** For `spawn`: PostgreSQL and pgbouncer refuse to run as root; this is "nobody". */
export const unprivileged: { uid?: number; gid?: number } =
  process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
