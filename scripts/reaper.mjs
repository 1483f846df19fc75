import { spawn } from 'node:child_process';

/**
 * Waits on a pipe from the parent. A line "done" is an orderly end. End of file without it means that the parent is
 * gone, however that happened: the process and its children are killed (frozen ones too) and their folder is removed.
 */
const script = `
trap '' HUP INT TERM
read -r pid || exit 0
read -r verdict && exit 0
children=$(cat /proc/$pid/task/$pid/children 2>/dev/null || pgrep -P $pid)
kill -9 $pid $children 2>/dev/null
[ -z "$1" ] || rm -rf "$1" 2>/dev/null || { sleep 1; rm -rf "$1"; }
`;

/**
 * Started before the process it is for, so that there is no moment at which that one could be left behind.
 * @param {string} [ownFolder]
 * @returns {{ watch(pid: number): void, done(): void }}
 */
export function reapWithParent(ownFolder = '') {
  const shell = spawn('/bin/sh', ['-c', script, 'reaper', ownFolder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  });
  shell.unref();
  const pipe = /** @type {import('node:net').Socket} */ (shell.stdin);
  pipe.unref();
  pipe.on('error', () => undefined);
  shell.on('error', () => undefined);
  return {
    watch: (pid) => void pipe.write(`${pid}\n`),
    done: () => void pipe.end('done\n'),
  };
}
