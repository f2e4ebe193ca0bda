import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import { checkLayout } from '../domain/email-layout';
import { LIMITS } from '../domain/limits';
import { checkPlaceholders, lintPlaceholders, type TemplateText } from '../domain/template-lint';
import type { Finding } from '../domain/validation-issue';
import { checkVoiceXml } from '../domain/voice/parse-voice-xml';
import { judgeVoiceTemplate } from '../domain/voice/voice-template';
import { displayName, emptyAsAbsent, givenId, integer, pageLimit, pageNumber, searchTerm } from './common';
import { channel, count, id, ref, successToo, time } from './envelope';
import { params } from './params';
import { warnings } from './problem';
import { finding as findingOf, refused } from './validation-issue';

/** messaging-service.md, List and Create templates; api.md 5. */

/** So that what belongs together is checked beside the fields, and all findings come at once. */
const isAnObject = ({ value }: { value: unknown }) => typeof value === 'object' && value !== null;

const SORTABLE = ['templateName', 'createdAt', 'updatedAt', 'channel'] as const;

export const templateListQuery = z.object({
  channel: z.enum(CHANNELS),
  column: emptyAsAbsent(z.enum(SORTABLE).optional()),
  direction: emptyAsAbsent(z.enum(['asc', 'desc']).optional()),
  search: emptyAsAbsent(searchTerm.optional()),
  page: emptyAsAbsent(pageNumber.default(1)),
  pageSize: emptyAsAbsent(pageLimit().default(LIMITS.pageSizeDefault)),
});

/** What is said about a version, for those who read the list of them. */
const note = displayName
  .nullish()
  .transform((value) => value ?? undefined)
  .meta({ description: 'What is said about this version; shown with it in the list of versions.' });

const templateName = z.string().trim().min(1).max(LIMITS.templateNameChars);
const someText = z.string().refine((value) => value.trim() !== '', refused('empty', 'This may not be empty'));

/** What the visual editors save: kept as it came, so that a newer editor's fields survive. */
const design = z
  .record(z.string(), z.unknown())
  .refine(
    (value) => depthOf(value) <= LIMITS.designDepth,
    refused('too_deep', `Nested deeper than ${LIMITS.designDepth} levels`),
  );

const flow = design.pipe(
  z.looseObject({
    nodes: z.array(z.looseObject({})),
    edges: z.array(z.looseObject({})),
    viewport: z.looseObject({ x: z.number(), y: z.number(), zoom: z.number() }),
  }),
);

/** Without a body it is rendered from `template`; one that comes with both is sent as its body says. */
const emailTemplate = z
  .object({
    channel: z.literal('email'),
    templateName,
    subject: someText
      .max(LIMITS.subjectChars)
      .refine((value) => !/[\r\n]/.test(value), refused('line_break', 'A subject is one line')),
    body: z
      .string()
      .nullish()
      .transform((value) => value ?? ''),
    emailProviderId: z
      .string()
      .max(LIMITS.templateNameChars)
      .nullish()
      .transform((value) => value ?? ''),
    template: design.nullish(),
    note,
  })
  .superRefine(
    (value, context) => {
      if (isBlank(value.body) && (value.template === undefined || value.template === null)) {
        context.addIssue(findingOf('required', BODY_OR_TEMPLATE, ['body']));
      }
      for (const finding of emailFindings(value)) report(finding, context);
    },
    { when: isAnObject },
  );

const smsTemplate = z
  .object({ channel: z.literal('sms'), templateName, body: someText.max(LIMITS.smsBodyChars), note })
  .superRefine(
    (value, context) => {
      for (const finding of checkPlaceholders(textsOf(value))) report(finding, context);
    },
    { when: isAnObject },
  );

const BODY_OR_TEMPLATE = 'An email has a body, or a template from which it is rendered';

/** Without a body it is compiled from `voiceJson`; one that comes with both is sent as its body says. */
const voiceTemplate = z
  .object({
    channel: z.literal('voice'),
    templateName,
    body: z
      .string()
      .nullish()
      .transform((value) => value ?? ''),
    voiceJson: flow,
    note,
  })
  .superRefine(
    (value, context) => {
      for (const finding of voiceFindings(value)) {
        if (finding.severity === 'error') report(finding, context);
      }
    },
    { when: isAnObject },
  );

const byChannel = z.discriminatedUnion('channel', [emailTemplate, smsTemplate, voiceTemplate], {
  error: 'channel must be email, sms or voice',
});

/** Without a channel nothing else is looked at; the name, which all have, is reported with it nevertheless. */
export const templateBody = byChannel.superRefine(
  (value, context) => {
    const named = templateName.safeParse(value.templateName, { reportInput: true });
    for (const issue of named.error?.issues ?? []) context.addIssue({ ...issue, path: ['templateName'] });
  },
  { when: (payload) => isAnObject(payload) && !CHANNELS.includes((payload.value as TemplateBody).channel) },
);
export type TemplateBody = z.output<typeof byChannel>;

export const templateVersionQuery = z.object({
  version: emptyAsAbsent(
    z
      .string()
      .regex(/^[1-9]\d{0,8}$/, 'This must be a version number')
      .transform(Number)
      .meta({ type: 'integer', minimum: 1 })
      .optional(),
  ),
});

/** Version of a stored template. Without it, the newest. */
const version = integer.min(1).max(2_147_483_647).optional();

/** Values as a campaign would have them: a contact's own, and these where it has none. */
export const templatePreview = z.strictObject({
  params: params.default({}),
  contactId: givenId.nullish(),
  version,
});

/** Judged as a message once it is known for which channel it is. */
export const templateTestSend = z.strictObject({
  to: z.string(),
  from: z.string(),
  params: params.default({}),
  version,
});

/** Warnings for the author of a valid template; the answer has them beside the template. */
export function warningsOf(body: TemplateBody): Finding[] {
  const { findings, texts } =
    body.channel === 'voice'
      ? judgeVoice(body)
      : { findings: body.channel === 'email' ? layoutFindings(body) : [], texts: textsOf(body) };
  return [...findings.filter(({ severity }) => severity === 'warning'), ...lintPlaceholders(texts)];
}

interface Unchecked {
  subject?: unknown;
  body?: unknown;
  template?: unknown;
  voiceJson?: unknown;
}

function voiceFindings(value: Unchecked): Finding[] {
  const { findings, texts } = judgeVoice(value);
  return [...findings, ...checkPlaceholders(texts)];
}

/** Also beside fields that the schema has refused, which are not said to be wrong once more. */
function judgeVoice({ body, voiceJson }: Unchecked): { findings: Finding[]; texts: TemplateText[] } {
  if (!isObject(voiceJson)) {
    const findings = typeof body === 'string' && !isBlank(body) ? checkVoiceXml(body) : [];
    return { findings, texts: [] };
  }
  // In place of a body that is no text stands one that has nothing wrong.
  const given = typeof body === 'string' || isBlank(body) ? ((body as string) ?? '') : '<Response/>';
  const judged = judgeVoiceTemplate({ body: given, flow: voiceJson });
  const findings = judged.findings.filter(
    ({ path, code }) => !(code === 'invalid_type' && /^voiceJson\.(?:nodes|edges)(?:\.\d+)?$/.test(path)),
  );
  return { findings, texts: [{ path: isBlank(body) ? 'voiceJson' : 'body', text: judged.body }] };
}

function emailFindings(value: Unchecked): Finding[] {
  const findings = [...layoutFindings(value), ...checkPlaceholders(textsOf(value))];
  return findings.filter(({ severity }) => severity === 'error');
}

/** Skips a layout that is nested too deep, because it has been refused already. */
function layoutFindings({ template }: Unchecked): Finding[] {
  return isLayout(template) ? checkLayout(template, 'template') : [];
}

/** The texts that are sent: a layout's own only if the body is made of it. */
function textsOf(value: Unchecked): TemplateText[] {
  const texts: TemplateText[] = [];
  if (typeof value.subject === 'string') texts.push({ path: 'subject', text: value.subject });
  if (typeof value.body === 'string' && !isBlank(value.body)) texts.push({ path: 'body', text: value.body });
  else if (isLayout(value.template)) texts.push(...textsIn(value.template, 'template'));
  return texts;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isLayout = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && depthOf(value) <= LIMITS.designDepth;

function textsIn(value: unknown, path: string): TemplateText[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => textsIn(inner, `${path}.${key}`));
}

function report({ path, code, message }: Finding, context: z.RefinementCtx): void {
  context.addIssue(findingOf(code, message, [path]));
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

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

/** What the template endpoints answer (messaging-service.md, List templates; api.md 5). */

/** The editors' own documents, kept as they came. */
const storedDesign = z.record(z.string(), z.unknown());

const common = {
  id,
  templateName: z.string(),
  version: z.int().min(1),
  createdAt: time,
  updatedAt: time,
};
const sms = z.literal('sms');
const email = z.literal('email');
const voice = z.literal('voice');

const storedSms = z.strictObject({ ...common, channel: sms, body: z.string() }).meta({ id: 'SmsTemplate' });

const listed = z.discriminatedUnion('channel', [
  storedSms,
  z.strictObject({ ...common, channel: email, subject: z.string() }).meta({ id: 'ListedEmailTemplate' }),
  z.strictObject({ ...common, channel: voice, voiceJson: storedDesign }).meta({ id: 'ListedVoiceTemplate' }),
]);

const whole = z.discriminatedUnion('channel', [
  storedSms,
  z
    .strictObject({
      ...common,
      channel: email,
      subject: z.string(),
      body: z.string(),
      text: z.string().nullable().meta({ description: 'The plain-text part.' }),
      emailProviderId: z.string(),
      template: storedDesign.nullable(),
    })
    .meta({ id: 'EmailTemplate' }),
  z.strictObject({ ...common, channel: voice, body: z.string(), voiceJson: storedDesign }).meta({
    id: 'VoiceTemplate',
  }),
]);

export const templateList = z.strictObject({
  success: z.literal(true),
  templates: z.array(listed),
  page: z.int().min(1),
  pageSize: z.int().min(1),
  total: count,
});

export const createdTemplate = z.strictObject({ success: z.literal(true), template: whole, warnings });

export const readTemplate = z.strictObject({
  ...successToo,
  data: whole,
  template: whole.meta({ description: 'The same as data.' }),
});

export const replacedTemplate = readTemplate.extend({ warnings });

export const archivedTemplate = z.strictObject({ ...successToo, data: ref });

export const templateVersions = z.strictObject({
  ...successToo,
  data: z.array(
    z
      .strictObject({
        version: z.int().min(1),
        createdAt: time,
        createdBy: z.string().nullable(),
        note: z.string().optional(),
      })
      .meta({ id: 'TemplateVersion' }),
  ),
});

const names = z.array(z.string());

export const templatePreviewed = z.strictObject({
  ...successToo,
  data: z
    .strictObject({
      templateId: id,
      channel,
      version: z.int().min(1),
      subject: z.string().optional(),
      html: z.string().optional(),
      text: z.string().optional().meta({ description: 'Of an SMS, or an email’s plain-text part.' }),
      segments: z.int().min(1).optional(),
      encoding: z.enum(['gsm7', 'ucs2']).optional(),
      xml: z.string().optional(),
      used: names.meta({ description: 'Every placeholder, in order of first appearance.' }),
      missing: names.meta({ description: 'Those without a value, left to be seen in the parts.' }),
      warnings,
    })
    .meta({ id: 'TemplatePreview' }),
});
