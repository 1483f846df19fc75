import type { Database } from '../database/database.js';
import type { PartnerServer } from '../partner-server.js';
import type { Cast, Pods } from '../pods/start-pods.js';
import type { Finding, Stage } from '../stage.js';

export interface Scene {
  readonly pods: Pods;
  /** More of them, which the act need not close. */
  readonly startPods: (cast: Cast) => Promise<Pods>;
  /** Pods that were ready once, and could not lock in the meantime. */
  readonly ready: (pods: Pods) => Promise<void>;
  readonly database: Database;
  readonly partners: PartnerServer;
  readonly stage: Stage;
}

/** Something happens on stage; what is found afterwards decides whether the run was right. */
export type Act = (scene: Scene) => Promise<readonly Finding[]>;
