import { join } from 'node:path';
import type { Channel } from '../../src/domain/channel';
import { type RecordSummary, readRecord } from '../../src/providers/simulator/simulator-record';
import { ApiClient } from './api-client';
import {
  type Credentials,
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from './fanfare-process';

/** The whole program, ready, on a directory of its own, and a client of its first workspace. */
export class Installation {
  /** The one that was started last. */
  fanfare!: FanfareProcess;
  credentials!: Credentials;
  api!: ApiClient;

  private constructor(readonly place: Place) {}

  static async start(env: Record<string, string> = {}): Promise<Installation> {
    return Installation.startAt(await makePlace(env));
  }

  /** For who must know the place before the program runs, such as its port. */
  static async startAt(place: Place): Promise<Installation> {
    const one = new Installation(place);
    try {
      await one.run();
    } catch (error) {
      await one.remove();
      throw error;
    }
    return one;
  }

  /** Starts the program on what an ended one has left. */
  async run(): Promise<void> {
    this.fanfare = startFanfare(this.place);
    await untilReady(this.fanfare);
    await this.api?.close();
    this.credentials = readCredentials(this.place);
    this.api = new ApiClient(this.fanfare.baseUrl, this.credentials);
  }

  /** What the simulator has taken. */
  record(channel: Channel): RecordSummary {
    return readRecord(this.recordDir, channel);
  }

  get recordDir(): string {
    return join(this.place.dataDir, 'simulator');
  }

  async remove(): Promise<void> {
    await this.api?.close();
    await this.fanfare?.stop();
    await this.place.remove();
  }
}
