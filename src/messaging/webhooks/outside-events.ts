/**
 * Outside events that webhooks report too: the phases of campaigns, which this half does not know. The source
 * keeps an event until `done`, and returns it again if a process dies before. Ids of deliveries are derived
 * from the event's id, so that a repetition creates no second delivery.
 */
export interface OutsideEvents {
  /** The oldest, at most `limit`. */
  read(limit: number): Promise<OutsideEvent[]>;
  /** The events' contents by their ids; called only when an endpoint wants them. */
  describe(events: readonly OutsideEvent[]): Promise<Map<string, Record<string, unknown>>>;
  done(ids: readonly string[]): Promise<void>;
}

export interface OutsideEvent {
  id: string;
  workspaceId: string;
  type: string;
  at: Date;
  /** Id of its subject. */
  subjectId: string;
}
