/** How much of memory each way takes: bytes of content, and flows that have some of their messages here. */
export class WayShares {
  private bytes = new Map<string, number>();
  private flows = new Map<string, number>();

  bytesOf(way: string): number {
    return this.bytes.get(way) ?? 0;
  }

  flowsOf(way: string): number {
    return Math.max(1, this.flows.get(way) ?? 1);
  }

  addBytes(way: string, count: number): void {
    this.bytes.set(way, this.bytesOf(way) + count);
  }

  addFlows(way: string, count: number): void {
    this.flows.set(way, (this.flows.get(way) ?? 0) + count);
  }

  clear(): void {
    this.bytes = new Map();
    this.flows = new Map();
  }
}
