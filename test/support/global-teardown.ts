/** Ends what the broker started, and only that. */
export default async function globalTeardown(): Promise<void> {
  await globalThis.testBroker?.close();
}
