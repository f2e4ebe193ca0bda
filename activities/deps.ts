import type { Kysely } from 'kysely';
import type { SuppressionEntry, SuppressionRule } from '../src/campaigns/model/dependencies';
import type { CampaignTables } from '../src/campaigns/model/tables';
import type { CallPolicy } from '../src/domain/call-policy';
import type { CallTimes } from '../src/domain/call-silence';
import type { Control } from '../src/domain/campaign';
import type { Foreground } from '../src/foreground';
import type { Gateway } from '../src/gateway/gateway';
import type { Log } from '../src/log';

/** Dependencies of the activities. Everything that reaches outside the process comes from here. */
export interface ActivityDeps {
  db: Kysely<CampaignTables>;
  /** Returns the messaging service's gateway with the credentials of one workspace. */
  gatewayFor(workspaceId: string): Gateway;
  signals: WorkflowSignals;
  /** Says which addresses the workspace must not write to or call. Without it, every address may be reached. */
  suppression?: SuppressionRule | undefined;
  /**
   * Says why an address is suppressed, to be stored with recipients who are left out. Without it, only the
   * reason is stored.
   */
  suppressionEntry?: SuppressionEntry | undefined;
  callTimes?: CallTimes | undefined;
  /** Requests that this process answers. Chunks and pieces let them pass. */
  foreground?: Foreground | undefined;
  log: Log;
}

/** Address of a recipient's call workflow; `from` is the attempt it begins with. */
export interface CallAddress {
  runId: string;
  seq: number;
  from: number;
}

/** How activities reach other workflows; implemented over the Temporal client (src/temporal). */
export interface WorkflowSignals {
  /** Has no effect when the call's workflow exists already, running or ended. */
  startCall(call: CallAddress & { policy: CallPolicy }): Promise<void>;
  /** Sends the run's control to a sleeping call. Has no effect when the call's workflow has ended. */
  wakeCall(call: CallAddress & { control: Control }): Promise<void>;
  /** Has no effect when the run's workflow exists already. */
  launchRun(run: { runId: string; launch: number; workspaceId: string; campaignId: string }): Promise<void>;
  /** Deletes a recurring campaign's Temporal schedule. Has no effect when there is none. */
  removeSchedule(campaignId: string): Promise<void>;
}
