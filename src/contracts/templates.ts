import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { voiceXmlFinding } from '../domain/voice-xml';
import { emptyAsAbsent, pageLimit, pageNumber, searchTerm } from './common';

/** messaging-service.md, List and Create templates; api.md 5. */

const SORTABLE = ['templateName', 'createdAt', 'updatedAt', 'channel'] as const;

export const templateListQuery = z.object({
  channel: z.enum(CHANNELS),
  column: emptyAsAbsent(z.enum(SORTABLE).optional()),
  direction: emptyAsAbsent(z.enum(['asc', 'desc']).optional()),
  search: emptyAsAbsent(searchTerm.optional()),
  page: emptyAsAbsent(pageNumber.default(1)),
  pageSize: emptyAsAbsent(pageLimit().default(LIMITS.pageSizeDefault)),
});

const templateName = z.string().trim().min(1).max(LIMITS.templateNameChars);
const someText = z.string().refine((value) => value.trim() !== '', 'This may not be empty');

/** What the visual editors save: kept as it came, so that a newer editor's fields survive. */
const design = z
  .record(z.string(), z.unknown())
  .refine((value) => depthOf(value) <= LIMITS.designDepth, `Nested deeper than ${LIMITS.designDepth} levels`);

const flow = design.pipe(
  z.looseObject({
    nodes: z.array(z.looseObject({})),
    edges: z.array(z.looseObject({})),
    viewport: z.looseObject({ x: z.number(), y: z.number(), zoom: z.number() }),
  }),
);

const emailTemplate = z.object({
  channel: z.literal('email'),
  templateName,
  subject: someText
    .max(LIMITS.subjectChars)
    .refine((value) => !/[\r\n]/.test(value), 'A subject is one line'),
  body: someText,
  emailProviderId: z.string().max(LIMITS.templateNameChars).default(''),
  template: design.nullish(),
});

const smsTemplate = z.object({ channel: z.literal('sms'), templateName, body: someText });

const voiceTemplate = z.object({
  channel: z.literal('voice'),
  templateName,
  body: someText.superRefine((value, context) => {
    const finding = voiceXmlFinding(value);
    if (finding) context.addIssue({ code: 'custom', message: finding, params: { code: 'invalid_xml' } });
  }),
  voiceJson: flow,
});

export const templateBody = z.discriminatedUnion('channel', [emailTemplate, smsTemplate, voiceTemplate], {
  error: 'channel must be email, sms or voice',
});
export type TemplateBody = z.output<typeof templateBody>;

export const templateVersionQuery = z.object({
  version: emptyAsAbsent(
    z
      .string()
      .regex(/^[1-9]\d{0,8}$/, 'This must be a version number')
      .transform(Number)
      .optional(),
  ),
});

/** With a list of its own to work through: nesting may be as deep as the body is long. */
function depthOf(root: unknown): number {
  let deepest = 0;
  const waiting = [{ value: root, depth: 1 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    deepest = Math.max(deepest, next.depth);
    for (const value of Object.values(next.value)) waiting.push({ value, depth: next.depth + 1 });
  }
  return deepest;
}
