import { z } from 'zod';
import { LIMITS } from '../domain/limits';

const template = z.object({
  templateId: z.string().min(1).max(LIMITS.idChars),
  version: z.int32().min(1),
});
/** What is no id holds its place as an empty text. */
const id = z
  .string()
  .max(LIMITS.idChars)
  .catch(() => '');
const ids = z
  .array(id)
  .max(LIMITS.campaignLists)
  .catch(() => []);
/** What of a malformed body names something. A member of another form names nothing. */
export const campaignReferences = z.object({
  channel: z.array(z.unknown()).catch(() => []),
  settings: z
    .record(
      z.string(),
      template.nullable().catch(() => null),
    )
    .catch(() => ({})),
  contactListId: ids,
  exclude: z.object({ campaignIds: ids }).catch(() => ({ campaignIds: [] })),
});

export type CampaignReferences = z.output<typeof campaignReferences>;
