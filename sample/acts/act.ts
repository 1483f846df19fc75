import type { Database } from '../database/database.js';
import type { PartnerServer } from '../partner-server.js';
import type { Pod } from '../pods/pod.js';
import type { Finding, Stage } from '../stage.js';

export interface Scene {
  readonly pods: readonly [Pod, Pod, Pod];
  readonly database: Database;
  readonly partners: PartnerServer;
  readonly stage: Stage;
}

/** Something happens on stage; what is found afterwards decides whether the run was right. */
export type Act = (scene: Scene) => Promise<readonly Finding[]>;
