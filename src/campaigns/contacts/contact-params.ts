import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../shared/tables';
import { filledParams, type ParamValue } from './fill-params';

export interface ContactParams {
  /** The values that a campaign with these params would send to this contact; `undefined` without such a contact. */
  of(
    contact: { workspaceId: string; contactId: string },
    placeholders: readonly string[],
    campaignParams: Record<string, ParamValue>,
  ): Promise<Record<string, ParamValue> | undefined>;
}

/** Reads one contact's values for a template's placeholders, before anything is sent. */
export function createContactParams({ db }: { db: Kysely<CampaignTables> }): ContactParams {
  return {
    async of({ workspaceId, contactId }, placeholders, campaignParams) {
      const { rows } = await sql<{ params: Record<string, ParamValue> }>`
        select ${filledParams(placeholders, campaignParams)} as params from contacts c
        where c.id = ${contactId} and c.workspace_id = ${workspaceId}`.execute(db);
      return rows[0]?.params;
    },
  };
}
