import { linesOf, runCarriersDemo } from './carriers';

/** `npm run demo:carriers`: prints who got what by which account. It needs no account at any carrier. */
async function main(): Promise<void> {
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  const demo = await runCarriersDemo(say);
  for (const line of linesOf(demo)) say(line);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
