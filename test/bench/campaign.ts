import { adaptersPart } from './adapters';
import { alonePart } from './alone';
import { auditedPart } from './audited';
import { carrierPart } from './carrier';
import { explainedPart } from './explained';
import { freezePart } from './freeze';
import { memoryPart } from './memory';
import { importPart, millionPart, pagesPart } from './million';
import { neighboursPart } from './neighbours';
import { processesPart } from './processes';
import { ratioPart } from './ratio';
import { retentionPart } from './retention';
import { chosenParts, note } from './rig';
import { sleepingPart } from './sleeping';
import { smppPart } from './smpp';
import { smtpPart } from './smtp';
import { soakPart } from './soak';
import { pacePart, pausePart } from './steering';
import { triggerPart } from './trigger';
import { webhooksPart } from './webhooks';
import { writesPart } from './writes';

/**
 * Campaigns, measured. `--part a,b` chooses the parts, which run one after the other, each on a place of its
 * own; DATABASE_URL chooses the database; without it each has a managed one. Prints one line of JSON. What the parts measure, and the options that
 * set their size, is told at the head of each and in docs/benchmarks.md.
 */
const PARTS: Record<string, () => Promise<unknown>> = {
  ratio: ratioPart,
  alone: alonePart,
  audited: auditedPart,
  carrier: carrierPart,
  processes: processesPart,
  adapters: adaptersPart,
  writes: writesPart,
  memory: memoryPart,
  sleeping: sleepingPart,
  neighbours: neighboursPart,
  pause: pausePart,
  pace: pacePart,
  import: importPart,
  freeze: freezePart,
  explained: explainedPart,
  pages: pagesPart,
  million: millionPart,
  smtp: smtpPart,
  smpp: smppPart,
  webhooks: webhooksPart,
  trigger: triggerPart,
  retention: retentionPart,
  soak: soakPart,
};

async function main(): Promise<void> {
  const parts = chosenParts(Object.keys(PARTS), ['ratio']);
  const result: Record<string, unknown> = {
    database: process.env.DATABASE_URL ? 'DATABASE_URL' : 'managed',
    node: process.versions.node,
  };
  for (const part of parts) {
    note(`${part}:`);
    result[part] = await PARTS[part]?.();
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
});
