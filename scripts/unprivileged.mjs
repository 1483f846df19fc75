/**
 * For `spawn`: PostgreSQL and pgbouncer refuse to run as root; this is "nobody".
 * @type {{ uid?: number, gid?: number }}
 */
export const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
