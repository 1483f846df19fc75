/** Compiled only: the user's own client is accepted, whichever library and major version it comes from. */
import { Redis as Redis5, Cluster as Cluster5 } from 'ioredis5';
import { Redis as Redis6, Cluster as Cluster6 } from 'ioredis6';
import { Redis as Valkey } from 'iovalkey';
import { DistributedLockModule } from 'nestjs-fenced-lock';

export const modules = () => [
  DistributedLockModule.forRoot({ nodes: [new Redis5()] }),
  DistributedLockModule.forRoot({ nodes: [new Redis6()] }),
  DistributedLockModule.forRoot({ nodes: [new Valkey()] }),
  DistributedLockModule.forRoot({ nodes: [new Cluster5([]), new Cluster6([]), new Valkey()] }),
  // @ts-expect-error not a client, an address or options
  DistributedLockModule.forRoot({ nodes: [42] }),
];
