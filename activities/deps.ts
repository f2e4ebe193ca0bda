import type { Kysely } from 'kysely';
import type { SuppressionEntry, SuppressionRule } from '../src/campaigns/ports';
import type { CampaignTables } from '../src/campaigns/tables';
import type { CallPolicy, CallTimes } from '../src/domain/call-policy';
import type { Control } from '../src/domain/campaign';
import type { Gateway } from '../src/gateway/gateway';
import type { Log } from '../src/log';

/** What activities may use. Everything that reaches outside is given to them. */
export interface ActivityDeps {
  db: Kysely<CampaignTables>;
  /** The messaging service, with the credentials of one workspace. */
  gatewayFor(workspaceId: string): Gateway;
  signals: WorkflowSignals;
  /** Whom the workspace does not write to or call; without it, everybody may be. */
  suppression?: SuppressionRule | undefined;
  /** Why not, to be kept with those who are left out; without it, the reason alone is. */
  suppressionEntry?: SuppressionEntry | undefined;
  callTimes?: CallTimes | undefined;
  log: Log;
}

/** A recipient's call workflow; `from` is the attempt with which it begins. */
export interface CallAddress {
  runId: string;
  seq: number;
  from: number;
}

/** How activities reach other workflows; implemented over the Temporal client (src/temporal). */
export interface WorkflowSignals {
  /** Harmless when the call's workflow exists already, running or ended. */
  startCall(call: CallAddress & { policy: CallPolicy }): Promise<void>;
  /** Tells a sleeping call what its run's owner wants. Harmless when the call's workflow has ended. */
  wakeCall(call: CallAddress & { control: Control }): Promise<void>;
  /** Harmless when the run's workflow exists already. */
  launchRun(run: { runId: string; launch: number; workspaceId: string; campaignId: string }): Promise<void>;
  /** Takes a recurring campaign's clock down. Harmless when there is none. */
  removeSchedule(campaignId: string): Promise<void>;
}
