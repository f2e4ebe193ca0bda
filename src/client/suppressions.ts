import { type Calls, type KeyedOptions, queryOf, type RequestOptions } from './calls';
import type { Channel, ImportReport } from './types';
import { type Upload, uploaded } from './upload';

/** Addresses that the workspace does not write to. */
export class Suppressions {
  constructor(private readonly calls: Calls) {}

  list(
    options: RequestOptions & { channel?: Channel | 'all'; search?: string; pageSize?: number } = {},
  ): AsyncGenerator<Suppression, void, undefined> {
    const { channel, search, pageSize = 100 } = options;
    return this.calls.byPage('/api/suppression', { limit: pageSize, channel, search }, options);
  }

  /** An address that is suppressed already keeps its first entry. */
  add(suppression: SuppressionInput, options: KeyedOptions = {}): Promise<Suppression> {
    return this.calls.once('/api/suppression', suppression, options);
  }

  /** CSV of any length with the columns channel, address, reason and, where wanted, scope. */
  import(csv: Upload, options: RequestOptions = {}): Promise<ImportReport> {
    return uploaded(this.calls.transport, '/api/suppression', 'text/csv', csv, options);
  }

  /**
   * Lifts the entry of the given scope, or without one the entries of all scopes. A second call fails with
   * `not_found`.
   */
  lift(
    key: { channel: Channel | 'all'; address: string; scope?: string },
    options: RequestOptions = {},
  ): Promise<LiftedSuppression> {
    return this.calls.delete(`/api/suppression${queryOf(key)}`, options);
  }

  /** All of them, as CSV that can be imported. */
  export(options: RequestOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    return this.calls.bytes('/api/suppression.csv', options);
  }
}

export interface SuppressionInput {
  channel: Channel | 'all';
  address: string;
  reason: string;
  /** `workspace`, which is the default, or `sender:` and one sender. */
  scope?: string;
}

export interface Suppression {
  id: string;
  channel: Channel | 'all';
  /** Null for a person who was erased. */
  address: string | null;
  reason: string;
  scope: string;
  source: string;
  createdAt: string;
  updatedAt: string;
}

export interface LiftedSuppression {
  removed: number;
  /** Another entry, of another channel or sender, still covers the address. */
  stillSuppressed: boolean;
}
