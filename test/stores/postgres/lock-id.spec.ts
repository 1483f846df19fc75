import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { ALONE, CLEANING, lockId, MAKING_TABLES } from '../../../lib/stores/postgres/lock-id.js';

describe('lockId', () => {
  it('is the first 64 bits of a SHA-256, signed: the number that every process takes the lock on', () => {
    for (const key of ['job', 'ticket:1', 'Zürich 🔒', 'a\u0000b']) {
      const digest = createHash('sha256').update(`nestjs-fenced-lock:lock:${key}`).digest();
      expect(lockId(key).lock).toBe(digest.readBigInt64BE(0).toString());
    }
    const locks = Array.from({ length: 100 }, (_, index) => BigInt(lockId(`key ${index}`).lock));
    expect([locks.some((lock) => lock < 0n), locks.some((lock) => lock > 0n)]).toEqual([true, true]);
  });

  it('never takes one use for another', () => {
    const ids = ['', 'alone', 'a', 'b'].flatMap((key) => [lockId(key).lock, lockId(key).waiters]);
    expect(new Set([...ids, ALONE, MAKING_TABLES, CLEANING]).size).toBe(ids.length + 3);
  });

  it('keeps keys apart that are the same in UTF-8', () => {
    const keys = ['\ud800', '\udbff', '\udc00', 'x\ud800', '\ud800x', '\ufffd'];
    expect(new Set(keys.map((key) => lockId(key).lock)).size).toBe(keys.length);
    // the first one's UTF-16 is the other one's UTF-8
    expect(lockId('\ud841\u4180').lock).not.toBe(lockId('A\u0600A').lock);
  });
});
