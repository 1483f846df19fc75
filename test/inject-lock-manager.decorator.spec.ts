import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  DistributedLockModule,
  InjectLockManager,
  LockManager,
  LockOptionsError,
  MemoryStore,
  lockManagerToken,
} from 'nestjs-fenced-lock';

@Injectable()
class Service {
  @InjectLockManager('orders') readonly orders!: LockManager;
  constructor(
    readonly byType: LockManager,
    @InjectLockManager() readonly byDecorator: LockManager,
    @InjectLockManager('billing') readonly billing: LockManager,
  ) {}
}

describe('@InjectLockManager', () => {
  it('injects the default manager, and each named one', async () => {
    const module = await Test.createTestingModule({
      imports: [undefined, 'billing', 'orders'].map((name) =>
        DistributedLockModule.forRoot({ name, store: new MemoryStore() }),
      ),
      providers: [Service],
    }).compile();
    const { byType, byDecorator, billing, orders } = module.get(Service);
    expect(byDecorator).toBe(byType);
    expect(new Set([byType, billing, orders]).size).toBe(3);
    expect([module.get(LockManager), module.get(lockManagerToken('billing'))]).toEqual([byType, billing]);
    await module.close();
  });

  it('refuses an empty name', () => {
    expect(() => InjectLockManager('')).toThrow(LockOptionsError);
  });
});
