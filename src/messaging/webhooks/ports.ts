/**
 * What happens elsewhere and is to be told too: the phases of campaigns, which this half knows nothing of. Kept
 * by whoever makes it known until `done`, and told again if a process dies in between: the ids of deliveries are
 * derived from the event's, so that a second telling makes none.
 */
export interface OutsideEvents {
  /** The oldest, at most `limit`. */
  read(limit: number): Promise<OutsideEvent[]>;
  /** What is told of them, by their ids; asked only when somebody wants to know. */
  describe(events: readonly OutsideEvent[]): Promise<Map<string, Record<string, unknown>>>;
  done(ids: readonly string[]): Promise<void>;
}

export interface OutsideEvent {
  id: string;
  workspaceId: string;
  type: string;
  at: Date;
  /** What it is about. */
  subjectId: string;
}
