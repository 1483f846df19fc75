import { Inject } from '@nestjs/common';
import { lockManagerToken } from './nest/lock-tokens.js';

/** Injects the manager of `forRoot({ name })`; without a name the default one, as the type `LockManager` does by itself. */
export function InjectLockManager(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(lockManagerToken(name));
}
