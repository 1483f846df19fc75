/** Where there is a name for it in sysexits.h, that; the shell's own for what concerns the command. `run` otherwise ends with the code of its command. */
export const EXIT = {
  ok: 0,
  /** Of `inspect`: the key is free. Of `release`: there was nothing to release. */
  nothing: 1,
  /** EX_USAGE */
  usage: 64,
  /** EX_UNAVAILABLE: too few nodes answered. */
  unavailable: 69,
  /** EX_SOFTWARE: the lock was lost under the command; also, something went wrong that is none of the others. */
  lost: 70,
  /** EX_TEMPFAIL: someone else holds the key. */
  busy: 75,
  notExecutable: 126,
  notFound: 127,
  /** Plus the number of the signal that ended the command, or the wait for the lock. */
  signal: 128,
} as const;
