import { describe, expect, it, jest } from '@jest/globals';
import { Hold } from '../../../lib/stores/failover/hold.js';

describe('Hold', () => {
  it('tells of a loss that came before anybody listened', () => {
    const hold = new Hold('k', 'o', 1);
    let lose!: () => void;
    hold.onPostgres('alone', (lost) => {
      lose = lost;
      return () => undefined;
    });
    lose();
    const lost = jest.fn();
    hold.onLoss(lost);
    expect(lost).toHaveBeenCalledTimes(1);
  });

  it('listens to Postgres once, however often what it has there changes, and no more when it has nothing', () => {
    const hold = new Hold('k', 'o', 1);
    const stop = jest.fn();
    const listen = jest.fn(() => stop);
    hold.onPostgres('too', listen);
    hold.onPostgres('alone', listen);
    expect(listen).toHaveBeenCalledTimes(1);
    hold.offPostgres();
    expect(stop).toHaveBeenCalledTimes(1);
    hold.onPostgres('too', listen);
    expect(listen).toHaveBeenCalledTimes(2);
  });

  it('tells nobody who has stopped listening', () => {
    const hold = new Hold('k', 'o', 1);
    let lose!: () => void;
    hold.onPostgres('alone', (lost) => {
      lose = lost;
      return () => undefined;
    });
    const lost = jest.fn();
    hold.onLoss(lost)();
    lose();
    expect(lost).not.toHaveBeenCalled();
  });
});
